"""Records written and read as JSON lines: append and tail."""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.requests import record_lines
from metadata_log.format.batch import NewBatch
from metadata_log.writer.log import MetadataLog
from records.control import NoteRecord
from tests.api.conftest import Answer, Metalog
from tests.docs_console import ROOT

ID = "AAECAwQFBgcICQoLDA0ODw"
NAMESPACE = {"type": "NamespaceRecord", "data": {"namespace_id": ID, "name": "org"}}
REMOVAL = {"type": "RemoveNamespaceRecord", "data": {"namespace_id": ID}}


def a_note(text: str) -> dict[str, Any]:
    return {"type": "NoteRecord", "data": {"at_offset": 0, "author": "ada", "text": text}}


Append = Callable[..., Answer]


@pytest.fixture
def log(metalog: Metalog, tmp_path: Path) -> Path:
    """An empty own log."""
    metalog("init", tmp_path / "log")
    return tmp_path / "log"


@pytest.fixture
def append(metalog: Metalog, log: Path, tmp_path: Path) -> Append:
    """Append lines, given as JSON documents or as text."""

    def call(*lines: object, options: tuple[object, ...] = ()) -> Answer:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        (tmp_path / "lines").write_text("".join(f"{text}\n" for text in texts))
        return metalog("append", "--log", log, tmp_path / "lines", *options)

    return call


def written(metalog: Metalog, log: Path) -> list[Any]:
    """Return the records of the log, without those that its writers add by themselves
    (announcements, the feature levels of a new log).
    """
    return [row for row in metalog("dump", log, "--json").lines if not by_a_writer(row)]


def by_a_writer(row: Any) -> bool:
    command = (row.get("origin") or {}).get("command")
    return row["type"] in BY_THE_LOG or command == "activate"


BY_THE_LOG = ("LeaderChangeMessage", "BeginTransactionRecord", "EndTransactionRecord")
END = 7
"""Of a new log that was served once: the announcement, and its levels in a transaction."""


def test_appended_records_are_in_the_log_with_who_and_why(
    metalog: Metalog, log: Path, append: Append
) -> None:
    answer = append(
        NAMESPACE,
        "",
        a_note("x"),
        options=("--principal", "User:ada", "--reason", "a test", "--json"),
    )
    assert answer.code == 0
    assert answer.json == {
        "records": 2,
        "batches": 1,
        "first_offset": END,
        "last_offset": END + 1,
        "last_line": 3,
        "already_records": 0,
        "already_batches": 0,
        "already_to": None,
        "as_of": END + 1,
        "history_start": 0,
        "log_end": END + 2,
        "not_understood": None,
    }
    rows = written(metalog, log)
    for row, line in zip(rows, (NAMESPACE, a_note("x")), strict=True):
        # Fields that a line leaves out have their defaults.
        assert (row["type"], row["data"]) == (line["type"], row["data"] | line["data"])
    origin = rows[0]["origin"]
    assert origin.pop("request_id").startswith("file-")
    assert origin == {
        "principal": "User:ada",
        "reason": "a test",
        "command": "append",
        "client": "metalog",
    }


def test_lines_are_read_from_standard_input(
    metalog: Metalog, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = io.BytesIO(json.dumps(NAMESPACE).encode())  # no newline at the end
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(lines))
    out = metalog("append", "--log", log, "-").out
    assert out == f"appended 1 record in 1 batch, offsets {END} to {END}\n"


@pytest.mark.parametrize(("batch", "sizes"), [("1", [1] * 5), ("2", [2, 2, 1]), ("1000", [5])])
def test_batches_have_the_size_asked_for(
    metalog: Metalog, log: Path, append: Append, batch: str, sizes: list[int]
) -> None:
    append(*(a_note(str(n)) for n in range(5)), options=("--batch", batch))
    offsets = [row["batch_offset"] for row in written(metalog, log)]
    assert [offsets.count(offset) for offset in sorted(set(offsets))] == sizes


def test_dump_of_a_log_makes_a_log_of_the_same_image(
    metalog: Metalog, log: Path, demo_log: Path, append: Append
) -> None:
    dumped = metalog("dump", demo_log, "--json", "--show-secrets").out.splitlines()
    skip = [option for name in BY_THE_LOG for option in ("--skip", name)]
    answer = append(*dumped, options=("--batch", "dump", *skip, "--json"))
    assert answer.code == 0, answer.err
    assert metalog("digest", log).out == metalog("digest", demo_log).out
    rows = [r for r in metalog("dump", demo_log, "--json").lines if r["type"] not in BY_THE_LOG]
    assert answer.json["batches"] == len({row["batch_offset"] for row in rows})
    copies = [r for r in metalog("dump", log, "--json").lines if r["type"] not in BY_THE_LOG]
    for copy, row in zip(copies[-len(rows) :], rows, strict=True):
        assert (copy["type"], copy["data"]) == (row["type"], row["data"])
        assert copy["record_version"] == row["record_version"]


_BAD_LINES = [
    ("nonsense", "JSON is malformed"),
    ("[]", "a line is {"),
    ('{"data": {}}', "missing required field `type`"),
    ('{"type": "NoteRecord", "date": {}}', "unknown field `date`"),
    ('{"type": "NoRecord", "data": {}}', "'NoRecord' is not a record type"),
    ('{"type": "NoteRecord", "data": {"text": "x"}}', "NoteRecord"),
    ('{"type": "NoteRecord", "data": {"at_offset": "x", "author": "", "text": ""}}', "at_offset"),
    ('{"type": "NoteRecord", "data": {"mood": 1}}', "no field 'mood'"),
    ('{"type": "FenceBrokerRecord", "data": {"id": 2147483648, "epoch": 1}}', "id is 2147483648"),
    ('{"type": "NoOpRecord", "data": {}, "record_version": 9}', "versions 0 to 0, not 9"),
    (
        '{"type": "LeaderChangeMessage", "data": {"version": 0, "leader_id": 1, "voters": [], '
        '"granting_voters": []}}',
        "--skip LeaderChangeMessage",
    ),
    (
        '{"type": "NoOpRunRecord", "data": {"count": 9, "batch_count": 9, "last_timestamp": 1}}',
        "--skip NoOpRunRecord",
    ),
    ('{"type": "BeginTransactionRecord", "data": {}}', "BeginTransactionRecord is written by"),
    ('{"type": "AbortTransactionRecord", "data": {}}', "all lines of an aborted one"),
    (
        '{"type": "ConfigRecord", "data": {"resource_type": 2, "resource_name": "t", '
        '"name": "x", "value": "(redacted)"}}',
        "--show-secrets",
    ),
    ('{"type": "NoteRecord", "data": {"at_offset": 0, "author": "\udcff", "text": ""}}', "line 2"),
]


@pytest.mark.parametrize(("line", "message"), _BAD_LINES)
def test_bad_line_is_named_and_nothing_of_its_batch_is_written(
    metalog: Metalog, log: Path, tmp_path: Path, line: str, message: str
) -> None:
    text = f"{json.dumps(NAMESPACE)}\n{line}\n".encode(errors="surrogateescape")
    (tmp_path / "lines").write_bytes(text)
    before = sorted(os.listdir(log))
    answer = metalog("append", "--log", log, tmp_path / "lines")
    assert answer.code == 3
    assert answer.err.startswith("error: INVALID_RECORD: line 2: ")
    assert message in answer.err
    assert answer.err.count("\n") == 1
    # The log was not even taken over.
    assert sorted(os.listdir(log)) == before
    assert written(metalog, log) == []


def test_record_that_cannot_be_replayed_is_refused_with_its_batch(
    metalog: Metalog, log: Path, append: Append
) -> None:
    append(NAMESPACE)
    answer = append(a_note("a"), a_note("b"), REMOVAL, REMOVAL, options=("--batch", "2"))
    assert answer.code == 3
    assert answer.err == (
        f"error: INVALID_RECORD: line 4: RemoveNamespaceRecord: there is no namespace of id {ID}; "
        f"the 2 records before, lines up to 2, are committed up to offset {END + 3}; mend what "
        "follows line 2, and append only that\n"
    )
    types = [row["type"] for row in written(metalog, log)]
    assert types == ["NamespaceRecord", "NoteRecord", "NoteRecord"]
    assert metalog("image", log, "--part", "namespaces").out.count("namespace:org") == 1


def test_line_without_an_end_is_refused(append: Append, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_lines, "LINE_SIZE_BYTES_MAX", 1_000)
    answer = append(NAMESPACE, "x" * 2_000)
    assert answer.code == 3
    assert "line 2: the line has more than 1000 bytes" in answer.err


def test_nothing_to_append_writes_nothing(metalog: Metalog, log: Path, append: Append) -> None:
    answer = append()
    assert (answer.code, answer.out) == (0, "nothing to append\n")
    assert metalog("info", log, "--json").json["log_end"] == 0


def test_mirror_takes_no_records(metalog: Metalog, tmp_path: Path) -> None:
    mirror = ROOT / "tests" / "golden" / "logs" / "0.1.0" / "mirror"
    (tmp_path / "lines").write_text(json.dumps(NAMESPACE))
    answer = metalog("append", "--log", mirror, tmp_path / "lines")
    assert answer.code == 3
    assert answer.err.startswith("error: NOT_CONTROLLER: ")


@pytest.mark.parametrize("batch", ["0", "10001", "many", "-1"])
def test_wrong_batch_size_is_wrong_usage(append: Append, batch: str) -> None:
    answer = append(NAMESPACE, options=(f"--batch={batch}",))
    assert answer.code == 2
    assert "--batch" in answer.err


def test_log_that_is_being_written_is_unavailable(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    (tmp_path / "lines").write_text(json.dumps(NAMESPACE))

    async def compete() -> Answer:
        writer = await MetadataLog.open(log)
        try:
            return await asyncio.to_thread(metalog, "append", "--log", log, tmp_path / "lines")
        finally:
            await writer.close()

    answer = asyncio.run(compete())
    assert answer.code == 4
    assert answer.err.startswith("error: UNAVAILABLE: ")


def test_tail_prints_from_a_point_as_dump_does(metalog: Metalog, demo_log: Path) -> None:
    dumped = metalog("dump", demo_log, "--from", 100, "--to", 119, "--json").out
    assert metalog("tail", demo_log, "--from", 100, "--count", 20, "--json").out == dumped
    types = ("--type", "TopicRecord")
    lines = metalog("dump", demo_log, *types).out.splitlines()[:5]
    answer = metalog("tail", demo_log, "--from", "start", *types, "--count", 5)
    assert answer.out.splitlines() == lines


def test_tail_redacts_secrets(metalog: Metalog, log: Path, append: Append) -> None:
    config = {"resource_type": 4, "resource_name": "1", "name": "ssl.key.password", "value": "s3"}
    first = append({"type": "ConfigRecord", "data": config}, options=("--json",)).json[
        "first_offset"
    ]
    assert "s3" not in metalog("tail", log, "--from", first, "--count", 1).out
    shown = metalog("tail", log, "--from", first, "--count", 1, "--show-secrets").out
    assert "value=s3" in shown


def test_tail_past_the_end_is_refused(metalog: Metalog, log: Path) -> None:
    answer = metalog("tail", log, "--from", 7)
    assert answer.code == 3
    assert answer.err.startswith("error: OFFSET_OUT_OF_RANGE: offset 7 is past the end")


def _tail(log: Path, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "api.cli", "tail", str(log), *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_tail_prints_what_commits_while_it_runs_and_ctrl_c_ends_it_well(log: Path) -> None:
    with _tail(log, "--from", "0", "--json") as process:
        assert process.stdout is not None and process.stderr is not None

        async def write() -> None:
            writer = await MetadataLog.open(log)
            for n in range(3):
                note = NoteRecord(at_offset=n, author="ada", text="live")
                await writer.append(NewBatch(records=(note,)))
            await writer.close()

        asyncio.run(write())
        lines = [json.loads(process.stdout.readline()) for _ in range(4)]
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert process.stdout.read() == ""
        assert process.stderr.read() == ""
    assert [line["offset"] for line in lines] == [0, 1, 2, 3]


def test_tail_without_a_point_prints_only_what_is_new(log: Path, append: Append) -> None:
    append(a_note("old"))
    with _tail(log, "--count", "2") as process:
        assert process.stdout is not None
        # Until it has started, what is appended may be old to it.
        while process.poll() is None:
            append(a_note("new"))
        out = process.stdout.read()
    assert process.returncode == 0
    assert "old" not in out
    assert len(out.splitlines()) == 2


def test_reader_of_tail_that_goes_away_ends_it(demo_log: Path) -> None:
    command = f"{sys.executable} -m api.cli tail {demo_log} --from start | head -n 2"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (len(done.stdout.splitlines()), done.stderr) == (2, "")
