"""The options that all commands that change a cluster share."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.api.conftest import Metalog


def contents(log: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in log.iterdir()}


def test_answer_names_the_offset_at_which_it_committed(metalog: Metalog, log: Path) -> None:
    answer = metalog("topics", "create", "new", "--log", log, "--json").json
    assert answer["committed_at"] == answer["as_of"] == answer["log_end"] - 1
    assert (answer["history_start"], answer["not_understood"]) == (0, None)
    assert metalog("info", log, "--json").json["log_end"] == answer["log_end"]
    (row,) = metalog("dump", log, "--type", "TopicRecord", "--json").lines[-1:]
    assert row["data"]["name"] == "new"
    text = metalog("topics", "create", "newer", "--log", log).out
    end = metalog("info", log, "--json").json["log_end"]
    assert text.endswith(f"committed at offset {end - 1}\n")


def test_batch_says_who_asked_how_and_why(metalog: Metalog, log: Path) -> None:
    arguments = ["--as", "User:ada", "--reason", "quarter's end", "--log", log]
    assert metalog("topics", "delete", "orders", *arguments).code == 0
    row = metalog("dump", log, "--type", "RemoveTopicRecord", "--json").lines[-1]
    assert row["origin"] == {
        "principal": "User:ada",
        "command": "topics delete",
        "reason": "quarter's end",
        "client": "metalog",
    }


def test_principal_defaults_to_the_system_user(
    metalog: Metalog, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "grace")
    metalog("topics", "delete", "orders", "--log", log)
    row = metalog("dump", log, "--type", "RemoveTopicRecord", "--json").lines[-1]
    assert row["origin"]["principal"] == "User:grace"


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics", "create", "orders"],
        ["topics", "create", "new", "--validate-only"],
        ["topics", "alter", "orders", "--partitions", "5", "--validate-only"],
        ["topics", "delete", "absent"],
        ["topics", "delete", "orders", "--validate-only"],
        ["namespaces", "delete", "absent"],
        ["configs", "set", "topic/orders", "retention.ms=never"],
        ["brokers", "unregister", "9"],
        ["reassignments", "cancel", "orders/0"],
        ["elect-leaders"],
    ],
)
def test_what_is_refused_or_only_validated_leaves_no_trace(
    metalog: Metalog, log: Path, arguments: list[str]
) -> None:
    before = contents(log)
    metalog(*arguments, "--log", log)
    assert contents(log) == before


def test_items_of_a_request_succeed_and_fail_on_their_own(metalog: Metalog, log: Path) -> None:
    answer = metalog("topics", "create", "new", "orders", "--log", log, "--json")
    assert answer.code == 3
    done, refused = answer.json["results"]
    assert done["name"] == "new" and done["error"] is None
    assert refused["error"]["code"] == "TOPIC_ALREADY_EXISTS"
    assert answer.error == {
        "code": "TOPIC_ALREADY_EXISTS",
        "message": "TopicAlreadyExists: 'orders' exists",
        "outcome": "nothing",
        "done_to": None,
    }
    assert answer.json["committed_at"] is not None


def test_json_of_a_request_all_of_whose_items_are_refused(metalog: Metalog, log: Path) -> None:
    answer = metalog("brokers", "unregister", 8, 9, "--log", log, "--json")
    assert answer.code == 3
    assert [r["error"]["code"] for r in answer.json["results"]] == ["BROKER_ID_NOT_REGISTERED"] * 2
    assert answer.json["committed_at"] is None
    errors = [json.loads(line) for line in answer.err.splitlines()]
    assert [error["code"] for error in errors] == ["BROKER_ID_NOT_REGISTERED"] * 2


def test_mirror_takes_no_changes_and_names_fork(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    mirror = Path(shutil.copytree(log, tmp_path / "mirror"))
    manifest = mirror / "metalog.json"
    manifest.write_text(manifest.read_text().replace('"own"', '"mirror"'))
    answer = metalog("topics", "delete", "orders", "--log", mirror)
    assert answer.code == 3
    assert answer.err.startswith("error: NOT_CONTROLLER: ")
    assert f"metalog fork {mirror}" in answer.err
    assert metalog("topics", "list", "--log", mirror).code == 0


def test_second_writer_is_asked_to_try_again(metalog: Metalog, log: Path) -> None:
    from metadata_log.files.fs import OsFs
    from metadata_log.files.lock import lock_directory

    lock = lock_directory(OsFs(), log)
    try:
        answer = metalog("topics", "delete", "orders", "--log", log)
        assert answer.code == 4
        assert answer.err.startswith("error: UNAVAILABLE: ")
        assert metalog("topics", "list", "--log", log).code == 0
    finally:
        lock.release()
    assert metalog("topics", "delete", "orders", "--log", log).code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "start"),
    [
        (["topics", "delete", "orders"], 2, "error: USAGE: "),
        (["topics", "delete", "a", "--log", "{log}", "--server", "kafka://h:1"], 2, "error: USAGE"),
        (["topics", "delete", "a", "--log", ""], 2, "error: USAGE: "),
        (["topics", "delete", "a", "--log", "{log}/nowhere"], 3, "error: LOG_NOT_FOUND: "),
        (["topics", "delete", "a", "--server", "kafka://127.0.0.1:1"], 4, "error: UNAVAILABLE: "),
        (["topics", "delete", "a", "--server", "gopher://h"], 2, "error: USAGE: "),
        (["topics", "list"], 2, "error: USAGE: "),
        (["topics", "list", "--log", "{log}", "--at", "999999"], 3, "error: OFFSET_OUT_OF_RANGE"),
        (["topics", "sing", "--log", "{log}"], 2, "error: USAGE: "),
        (["topics", "delete", os.fsdecode(b"a\xff"), "--log", "{log}"], 2, "error: USAGE: "),
        (
            ["topics", "delete", "a", "--reason", os.fsdecode(b"\xff"), "--log", "{log}"],
            2,
            "error: USAGE: ",
        ),
    ],
)
def test_error_is_one_line_with_a_code(
    metalog: Metalog, log: Path, arguments: list[str], code: int, start: str
) -> None:
    answer = metalog(*(argument.replace("{log}", str(log)) for argument in arguments))
    assert answer.code == code
    assert answer.err.startswith(start)
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_reason_cannot_speak_to_the_terminal_that_reads_the_log(
    metalog: Metalog, log: Path
) -> None:
    metalog("topics", "delete", "orders", "--reason", "a\x1b[2Jb", "--log", log)
    assert "(a\\x1b[2Jb)" in metalog("dump", log).out
    assert "\x1b" not in metalog("history", log, "topic:orders").out


def test_a_new_log_gets_its_features_with_the_first_change(
    metalog: Metalog, tmp_path: Path
) -> None:
    metalog("init", tmp_path / "log")
    assert metalog("namespaces", "create", "org", "--log", tmp_path / "log").code == 0
    features = metalog("features", "describe", "--log", tmp_path / "log", "--json").json
    assert {f["feature"]: f["level"] for f in features["features"]}["namespace.version"] == 1


@pytest.mark.parametrize(
    "noun",
    ["topics", "namespaces", "configs", "brokers", "partitions", "reassignments", "features"],
)
def test_noun_without_a_verb_lists_its_verbs(metalog: Metalog, noun: str) -> None:
    answer = metalog(noun)
    assert answer.code == 2
    assert f"Usage: metalog {noun}" in answer.err
    assert "\nCommands:\n" in answer.err


def test_help_of_the_command_imports_no_noun() -> None:
    import subprocess
    import sys

    code = (
        "import sys\n"
        "from api.cli.main import run\n"
        "assert run(['--help']) == 0\n"
        "heavy = {'msgspec', 'asyncio', 'api.cli.admin.topics'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "topics" in done.stdout and "elect-leaders" in done.stdout
