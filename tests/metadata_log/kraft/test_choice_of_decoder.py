"""A compiled decoder of batches that does not fit this release is left unused."""

from pathlib import Path

import pytest

from tests.records.codecs import needs_compiled
from tests.records.test_choice_of_codec import run

_WORK = """
import sys
from metadata_log.kraft_format import compiled_rows
from metadata_log.kraft_format.batch import HEADER_SIZE, parse_header
from metadata_log.kraft_format.batch_codec import decode_batch, encode_batch
from records.configs import ClientQuotaRecord, EntityData
from records.envelope import Envelope

quota = ClientQuotaRecord(
    entity=(EntityData(entity_type="user", entity_name="ann"),), key="k", value=1.5, remove=False
)
rows = tuple(
    Envelope(
        offset=offset, leader_epoch=7, timestamp=1_763_700_000_000, batch_offset=0,
        record_version=0, payload=quota,
    )
    for offset in range(5)
)
data = encode_batch(rows)
header = parse_header(data)
for _ in range(3):
    assert decode_batch(data, header, 0).rows == rows
is_used = compiled_rows.decode(data, header, HEADER_SIZE, 0) is not None
print("compiled" if is_used else "python", "metalog_kafka_codec" in sys.modules)
"""

_OTHER_PLANS = "import metalog_kafka_codec; metalog_kafka_codec.PLANS += 1"
_EARLIER_WHEEL = "import sys; sys.modules['metalog_kafka_codec'] = None"
_FEWER_KINDS = "import metalog_kafka_codec; del metalog_kafka_codec.KINDS['float64']"
_FEWER_FIELDS = """
import metalog_kafka_codec
Plan = metalog_kafka_codec.Plan
def smaller(cls, names, fields, tagged):
    if len(names) > 8:
        raise TypeError(f"{cls.__name__} has {len(names)} fields")
    return Plan(cls, names, fields, tagged)
metalog_kafka_codec.Plan = smaller
"""
_MISREAD_COLUMNS = """
import metalog_kafka_codec
from msgspec.structs import replace
class Rows(metalog_kafka_codec.Rows):
    def decode(self, *arguments):
        rows, position = super().decode(*arguments)
        return [replace(row, offset=row.batch_offset) for row in rows], position
metalog_kafka_codec.Rows = Rows
"""


@needs_compiled
def test_it_is_used_where_it_is_installed() -> None:
    assert run(_WORK) == ("compiled True\n", "")


@pytest.mark.parametrize("broken", [False, True])
def test_environment_may_ask_for_python(tmp_path: Path, broken: bool) -> None:
    if broken:
        (tmp_path / "metalog_kafka_codec.py").write_text("raise RuntimeError('broken')")
    assert run(_WORK, "python", tmp_path) == ("python False\n", "")


@needs_compiled
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(_OTHER_PLANS, "version 2, this release makes 1", id="other plans"),
        pytest.param(_EARLIER_WHEEL, "metalog_kafka_codec", id="without the module"),
        pytest.param(_FEWER_KINDS, "KeyError('float64')", id="fewer kinds"),
        pytest.param(_FEWER_FIELDS, "fields", id="fewer fields"),
        pytest.param(_MISREAD_COLUMNS, "it decodes Envelope(offset=6,", id="misread columns"),
    ],
)
def test_decoder_that_does_not_fit_is_left_unused_with_one_warning(
    change: str, reason: str
) -> None:
    printed, warnings = run(change + "\n" + _WORK)
    assert printed == "python True\n"
    (warning,) = warnings.splitlines()
    assert warning.startswith("metalog-codec is not used") and reason in warning


@needs_compiled
@pytest.mark.parametrize(
    ("absent", "missing"),
    [
        (["metalog_kafka_codec"], "batches of Kafka"),
        (["metalog_follower"], "changes of partitions"),
        (["metalog_kafka_codec", "metalog_follower"], "batches of Kafka and changes of partitions"),
    ],
)
def test_version_says_what_an_earlier_wheel_does_not_do(absent: list[str], missing: str) -> None:
    program = f"""
import sys
from api.cli.main import run
sys.modules.update(dict.fromkeys({absent}))
sys.exit(run(["--version"]))
"""
    printed, warnings = run(program)
    assert printed.endswith(f"\ncodec: compiled, but not for {missing}\n")
    assert len(warnings.splitlines()) == len(absent)
