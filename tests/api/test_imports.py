"""Short commands import few modules, because importing takes most of their time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer import core
from typer.main import get_command

from api.cli.app import complete_app
from api.cli.commands import COMMANDS, modules_of
from api.cli.main import load_commands, run
from api.questions.table import QUESTIONS
from tests.api.conftest import Metalog
from tests.api.services import serving
from tests.docs_console import ROOT

_HEAVY = {
    *("sqlalchemy", "alembic", "pyspark", "pyarrow", "pydantic", "fastavro", "typing_extensions"),
    *("asyncio", "rich", "importlib.resources", "zipfile", "controller", "metadata_log.writer.log"),
    *("api.service.service", "api.clients.client"),
    *("typer", "inspect"),
    *("replay.snapshot.store", "replay.audit"),
}
_MAIN = """
import json, sys
from api.cli.main import run
code = run(sys.argv[1:])
sys.stderr.write(json.dumps([code, *sys.modules]))
"""
_READING = {
    "info": (),
    "image": ("--at", "100"),
    "history": ("broker:2", "--last", "3"),
    "diff": ("10", "20"),
    "blame": ("broker:2", "--at", "200"),
    "dump": ("--to", "20"),
}


def _modules(*arguments: object) -> set[str]:
    """Return the modules that a command imports in a process of its own."""
    command = [sys.executable, "-c", _MAIN, *map(str, arguments)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    code, *modules = json.loads(ran.stderr)
    assert code in (0, 1), ran
    return set(modules)


@pytest.mark.parametrize("command", _READING)
def test_reading_a_log_imports_nothing_heavy(command: str, demo_log: Path) -> None:
    modules = _modules(command, demo_log, *_READING[command])
    assert not _HEAVY & modules
    assert "metadata_log.reader.log_reader" in modules, "it did read the log"


_OURS = {"api", "controller", "metadata_log", "migrations", "records", "replay"}


# Packages are not counted; each module takes about 0.4 ms of the 70 that such a command takes.
@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        (("info",), 124),
        (("image", "--at", "500"), 110),
        (("history", "broker:2"), 129),
        (("diff", "100", "500"), 131),
        (("blame", "broker:2", "--at", "500"), 129),
    ],
    ids=str,
)
def test_short_commands_import_few_modules_of_ours(
    arguments: tuple[str, ...], most: int, demo_log: Path
) -> None:
    command, *rest = arguments
    loaded = _modules(command, demo_log, *rest)
    ours = [name.replace(".", "/") for name in loaded if name.partition(".")[0] in _OURS]
    assert len([name for name in ours if not (ROOT / name).is_dir()]) <= most


def test_asking_a_service_imports_one_question_and_no_commands(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / "log")]) == 0
    with serving(tmp_path / "log") as service:
        modules = _modules("info", "--server", service.kafka)
    assert {"api.clients.client", "api.questions.log_info"} <= modules
    assert not {"api.requests.commands", "api.questions.history", "controller.controller"} & modules


_ANSWERING = """
import json, sys
from pathlib import Path
from api.questions.worker import PagedLog, PageRequest, _reply
request = PageRequest(question="info", payload=b"\\x80", at="end")
reply = _reply(PagedLog(Path(sys.argv[1])), request)
sys.stderr.write(json.dumps([reply.page is not None, *sys.modules]))
"""


def test_process_that_answers_questions_imports_what_it_is_asked(demo_log: Path) -> None:
    command = [sys.executable, "-c", _ANSWERING, str(demo_log)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    answered, *modules = json.loads(ran.stderr)
    assert answered
    assert "api.questions.log_info" in modules
    heavy = ("controller.decisions", "replay.report.report", "lark", "asyncio")
    assert not {*heavy, "api.questions.history", "controller.descriptions.topics"} & set(modules)


_SERVING = """
import asyncio, json, sys
from pathlib import Path
from api import server

start_listeners = server.start_listeners

async def listen(*arguments):
    sys.stderr.write(json.dumps([*sys.modules]))
    return await start_listeners(*arguments)

async def main():
    server.start_listeners = listen
    async with server.serving(server.ServeOptions(log=Path(sys.argv[1]), kafka=())):
        pass

asyncio.run(main())
"""


def test_service_has_imported_all_questions_before_it_listens(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / "log")]) == 0
    command = [sys.executable, "-c", _SERVING, str(tmp_path / "log")]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    places = [row.question.partition(":")[0] for row in QUESTIONS.values()]
    wanted = {place if "." in place else f"api.questions.{place}" for place in places}
    assert wanted <= set(json.loads(ran.stderr))


def test_only_the_module_of_the_command_is_imported(demo_log: Path) -> None:
    modules = _modules("--debug", "info", demo_log)
    declaring = {module for command in COMMANDS for module in modules_of(command)}
    assert declaring & modules == {"api.cli.log.logs"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--part", "brokers"),
        ("--at=100", "--json"),
        ("--at", "-1"),
        ("--at", "100", "--at", "200"),
        ("--time-zone", "+02:00"),
        ("--format", "xml"),
        ("--no-such-option",),
        ("one-argument-more",),
        ("--at",),
        ("--help",),
    ],
    ids=" ".join,
)
def test_parsed_at_once_or_by_typer_the_answer_is_the_same(
    metalog: Metalog, demo_log: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    at_once = metalog("image", demo_log, *arguments)
    monkeypatch.setattr("api.cli.main.quick_call", lambda _: None)
    assert metalog("image", demo_log, *arguments) == at_once


def test_an_argument_that_is_repeated_is_a_list_also_once(
    metalog: Metalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = metalog("advise", tmp_path)
    monkeypatch.setattr("api.cli.main.quick_call", lambda _: None)
    assert metalog("advise", tmp_path) == at_once


def test_wrong_number_is_refused_in_the_words_of_typer(metalog: Metalog, demo_log: Path) -> None:
    for text, said in {
        "x": "Input should be a valid integer, unable to parse string as an integer",
        "0": "Input should be greater than or equal to 1",
    }.items():
        answer = metalog("history", demo_log, "broker:2", "--last", text, "--json")
        assert answer.code == 2
        assert said in answer.error["message"]


def test_each_command_is_in_the_table() -> None:
    load_commands()
    root = get_command(complete_app())
    assert isinstance(root, core.TyperGroup)
    assert sorted(root.commands) == sorted(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_declared_by_the_module_of_its_row(command: str) -> None:
    run = [sys.executable, "-c", _MAIN, command, "--help"]
    done = subprocess.run(run, check=True, capture_output=True, text=True)
    assert done.stdout.startswith(f"Usage: metalog {command} ")
