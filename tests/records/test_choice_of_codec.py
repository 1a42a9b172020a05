"""An installed codec that does not fit this release is left unused, and everything still works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from records.avro import compiled
from records.envelope import Envelope
from records.registry import RECORD_TYPES
from tests.records.codecs import needs_compiled

_WORK = """
from records.avro import codec, compiled, uniform_rows
from records.configs import ClientQuotaRecord, EntityData
from records.envelope import Envelope

quota = ClientQuotaRecord(
    entity=(EntityData(entity_type="user", entity_name="ann"),), key="k", value=1.5, remove=False
)
rows = [
    Envelope(
        offset=offset, leader_epoch=7, timestamp=1_763_700_000_000, batch_offset=0,
        record_version=0, payload=quota,
    )
    for offset in range(5)
]
for _ in range(3):
    data = codec.encode_rows(rows)
    assert codec.decode_rows(data, 5) == uniform_rows.decode_rows(data, 5) == rows
print(compiled.name())
"""

_OTHER_PLANS = "import metalog_codec; metalog_codec.PLANS += 1"
_FEWER_KINDS = "import metalog_codec; del metalog_codec.KINDS['double']"
_OTHER_COLUMNS = """
import metalog_codec
class Rows:
    def __init__(self, *arguments):
        raise TypeError("the envelope has other fields")
metalog_codec.Rows = Rows
"""
_FEWER_FIELDS = """
import metalog_codec
Plan = metalog_codec.Plan
def smaller(cls, names, types):
    if len(names) > 8:
        raise TypeError(f"{cls.__name__} has {len(names)} fields")
    return Plan(cls, names, types)
metalog_codec.Plan = smaller
"""
_MISREAD_COLUMNS = """
import metalog_codec
from msgspec.structs import replace
class Rows(metalog_codec.Rows):
    def decode(self, data, count):
        rows = super().decode(data, count)
        return [replace(row, offset=row.batch_offset, batch_offset=row.offset) for row in rows]
metalog_codec.Rows = Rows
"""


def run(program: str, setting: str = "", path: Path | None = None) -> tuple[str, str]:
    """Run a program in a Python of its own; return what it printed and its warnings."""
    environment = {**os.environ, compiled.VARIABLE: setting}
    if path is not None:
        environment["PYTHONPATH"] = os.pathsep.join([str(path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@needs_compiled
@pytest.mark.parametrize(("setting", "name"), [("", "compiled"), ("python", "python")])
def test_environment_may_ask_for_the_codec_in_python(setting: str, name: str) -> None:
    assert run(_WORK, setting) == (f"{name}\n", "")


@needs_compiled
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(_OTHER_PLANS, "version 2, this release makes 1", id="other plans"),
        pytest.param(_FEWER_KINDS, "KeyError('double')", id="fewer kinds"),
        pytest.param(_OTHER_COLUMNS, "the envelope has other fields", id="other columns"),
        pytest.param(_FEWER_FIELDS, "fields", id="fewer fields"),
        pytest.param(_MISREAD_COLUMNS, "it encodes Envelope(offset=1,", id="misread columns"),
    ],
)
def test_codec_that_does_not_fit_is_left_unused_with_one_warning(change: str, reason: str) -> None:
    printed, warnings = run(change + "\n" + _WORK)
    assert printed == "python\n"
    (warning,) = warnings.splitlines()
    assert warning.startswith("metalog-codec is not used") and reason in warning


@needs_compiled
def test_codec_refuses_columns_in_another_order() -> None:
    import metalog_codec

    names = Envelope.__struct_fields__
    optional = (metalog_codec.Type("long", 0),) * 6

    def rows(names: tuple[str, ...]) -> None:
        metalog_codec.Rows(Envelope, names, optional, RECORD_TYPES, None, 1, True)

    rows(names)
    with pytest.raises(TypeError, match="other fields"):
        rows((names[1], names[0], *names[2:]))


@pytest.mark.parametrize("setting", ["", "python"])
def test_another_module_of_the_same_name_is_left_unused(tmp_path: Path, setting: str) -> None:
    (tmp_path / "metalog_codec.py").write_text("")
    printed, warnings = run(_WORK, setting, tmp_path)
    assert printed == "python\n"
    assert ("reads plans of version None" in warnings) is (setting != "python")


def test_module_that_cannot_be_imported_is_not_touched_if_the_environment_says_so(
    tmp_path: Path,
) -> None:
    (tmp_path / "metalog_codec.py").write_text("raise RuntimeError('broken')")
    assert run(_WORK, "python", tmp_path) == ("python\n", "")
    printed, warnings = run(_WORK, "", tmp_path)
    assert printed == "python\n"
    assert warnings.count("RuntimeError('broken')") == 1
