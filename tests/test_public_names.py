"""Packages export their public names, and importing a package takes almost no time."""

import ast
import importlib
import inspect
import json
import pydoc
import rlcompleter
import subprocess
import sys
from pathlib import Path
from typing import Any, NewType, get_args

import pytest

from api import ServeOptions, SocketClient, serving
from api.questions.log_info import ShowInfo
from metadata_log import LogReader, OsFs, create_log, open_store
from records import RequestError
from replay import SnapshotStore

ROOMS = ("records", "metadata_log", "replay", "controller", "api")
ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_exist_and_are_those_that_are_typed(room: str) -> None:
    package = importlib.import_module(room)
    for name in package.__all__:
        assert getattr(package, name) is not None
    tree = ast.parse((ROOT / room / "__init__.py").read_text())
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    typed = {alias.asname for node in imported for alias in node.names} - {None}
    assert typed == set(package.__all__)


@pytest.mark.parametrize("room", ROOMS)
def test_name_that_is_not_public_is_refused(room: str) -> None:
    with pytest.raises(AttributeError, match=f"{room}.*'nothing'"):
        _ = importlib.import_module(room).nothing


def test_importing_all_rooms_imports_no_module_of_them() -> None:
    code = f"import json, sys, {', '.join(ROOMS)}; print(json.dumps(list(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)
    modules = set(json.loads(ran.stdout))
    of_rooms = {name for name in modules if name.partition(".")[0] in ROOMS}
    assert of_rooms == {*ROOMS, "records.exports"}
    assert not {"msgspec", "asyncio", "fastavro", "sqlalchemy"} & modules


def test_library_examples_use_public_names_only() -> None:
    text = (ROOT / "docs" / "library.md").read_text()
    imports = [line for line in text.splitlines() if line.startswith("from ")]
    ours = [line for line in imports if line.split()[1].partition(".")[0] in ROOMS]
    assert ours
    assert {line.split()[1] for line in ours} <= set(ROOMS)


def test_application_with_an_api_of_its_own_reads_logs(tmp_path: Path, demo_log: Path) -> None:
    (tmp_path / "api.py").write_text("OURS = True\n")
    (tmp_path / "application.py").write_text(
        "import sys, api\n"
        "from metadata_log import LogReader\n"
        "from replay import Timeline\n"
        "with LogReader.open(sys.argv[1]) as log:\n"
        "    print(api.OURS, Timeline.of(log).image().topic_count > 0)\n"
    )
    command = [sys.executable, str(tmp_path / "application.py"), str(demo_log)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    assert ran.stdout == "True True\n"


def test_command_finds_its_packages_beside_an_api_of_the_application(
    tmp_path: Path, demo_log: Path
) -> None:
    (tmp_path / "api.py").write_text("raise ImportError\n")
    command = [str(Path(sys.executable).with_name("metalog")), "info", str(demo_log), "--json"]
    ran = subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    assert json.loads(ran.stdout)["kind"] == "own"


EXPORTS = [(room, name) for room in ROOMS for name in importlib.import_module(room).__all__]


@pytest.mark.parametrize(("room", "name"), EXPORTS)
def test_help_and_signature_of_every_export(room: str, name: str) -> None:
    value = getattr(importlib.import_module(room), name)
    assert name in pydoc.render_doc(value) or not callable(value)
    callables = [value] if callable(value) else []
    if isinstance(value, type):
        members = [getattr(value, name) for name in dir(value) if not name.startswith("_")]
        callables += [
            each for each in members if inspect.isfunction(each) or inspect.ismethod(each)
        ]
    for each in callables:
        if not isinstance(each, NewType):  # Python knows no signature of those
            assert inspect.signature(each)


@pytest.mark.parametrize(
    # Subclasses of OsFs would have to take both; what it does with text is tested below.
    ("room", "name"),
    [each for each in EXPORTS if each[1] != "OsFs"],
)
def test_every_export_takes_paths_as_text_too(room: str, name: str) -> None:
    value = getattr(importlib.import_module(room), name)
    members = [getattr(value, name) for name in dir(value) if not name.startswith("_")]
    for each in (value, *members):
        if not callable(each) or isinstance(each, NewType) or not _has_signature(each):
            continue
        for parameter in inspect.signature(each).parameters.values():
            kinds = [parameter.annotation, *get_args(parameter.annotation)]
            assert Path not in kinds or str in kinds, (each, parameter)


def _has_signature(value: Any) -> bool:
    try:
        inspect.signature(value)
    except ValueError:  # some of Python's own
        return False
    return True


async def test_paths_as_text_and_as_paths_do_the_same(tmp_path: Path) -> None:
    fs: Any = OsFs()
    for kind in (str, Path):
        folder = kind(tmp_path / kind.__name__ / "a" / "b")
        fs.make_directory(folder)
        fs.open(f"{folder}/file" if kind is str else Path(folder) / "file", create=True).close()
        lock = fs.lock(kind(f"{folder}/lock"), "the test")
        assert fs.list(folder) == ["file", "lock"]
        lock.release()
        assert open_store(folder).directory == Path(folder)
        log = kind(tmp_path / kind.__name__ / "log")
        create_log(log, "AAECAwQFBgcICQoLDA0ODw")
        with LogReader(fs, log) as reader:
            assert reader.header(kind(reader.segment_paths[0])).base_offset == 0
        socket = kind(tmp_path / kind.__name__ / "socket")
        async with (
            serving(ServeOptions(log=log, socket=socket)),
            await SocketClient.connect_at(socket) as client,
        ):
            await client.page("info", ShowInfo())
    with pytest.raises(RequestError, match="expected sqlite:///FILE"):
        SnapshotStore.open(Path("snapshots.db"), "x")  # type: ignore[arg-type]


@pytest.mark.parametrize("room", ROOMS)
def test_completion_lists_the_exports_also_once_modules_are_loaded(room: str) -> None:
    package = importlib.import_module(room)
    for name in package.__all__:
        getattr(package, name)
    names = {name for name in dir(package) if not name.startswith("__")}
    assert names == set(package.__all__)
    completed = rlcompleter.Completer({room: package})
    for name in package.__all__:
        found = [completed.complete(f"{room}.{name}", index) or "" for index in range(50)]
        assert any(text.rstrip("()") == f"{room}.{name}" for text in found)
