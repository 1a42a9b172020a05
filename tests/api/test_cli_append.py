"""`metalog append`: the same rules over every connection, and when it is repeated."""

import io
import json
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from api.cli.log.file_request import file_request
from metadata_log import limits
from records.base import ZERO_UUID
from records.text import uuid_text
from tests.api.conftest import Answer, Metalog
from tests.api.services import Served, serving
from tests.docs_console import ROOT

NOBODY_ID = "AAECAwQFBgcICQoLDA0ODw"

Append = Callable[..., Answer]


def line(type_: str, **data: Any) -> str:
    return json.dumps({"type": type_, "data": data})


def a_note(text: str) -> str:
    return line("NoteRecord", at_offset=0, author="ada", text=text)


def a_topic(name: str, topic_id: str = NOBODY_ID) -> str:
    return line("TopicRecord", name=name, topic_id=topic_id)


def notes(metalog: Metalog, log: Path) -> list[str]:
    rows = metalog("dump", log, "--type", "NoteRecord", "--json").lines
    return [row["data"]["text"] for row in rows]


@pytest.fixture
def log(metalog: Metalog, tmp_path: Path) -> Path:
    metalog("init", tmp_path / "log")
    return tmp_path / "log"


@pytest.fixture(params=["log", "kafka", "socket"])
def where(request: pytest.FixtureRequest, log: Path) -> Iterator[tuple[str, object]]:
    """The option that names the log or service, for each way to append."""
    if request.param == "log":
        yield "--log", log
        return
    with serving(log) as served:
        yield "--server", getattr(served, request.param)


@pytest.fixture
def append(metalog: Metalog, tmp_path: Path) -> Append:
    def call(where: tuple[str, object], *lines: str, options: tuple[object, ...] = ()) -> Answer:
        (tmp_path / "lines").write_text("".join(f"{text}\n" for text in lines))
        return metalog("append", *where, tmp_path / "lines", *options)

    return call


PARTITION = {
    "topic_id": NOBODY_ID,
    "partition_id": 0,
    "replicas": [1, 2],
    "isr": [1, 7],
    "removing_replicas": [],
    "adding_replicas": [],
    "leader": 1,
    "leader_epoch": 0,
    "partition_epoch": 0,
}

_REFUSED = {
    "break an invariant, isr_is_of_replicas": [
        a_topic("orders"),
        line("PartitionRecord", **PARTITION),
    ],
    "line 1: InvalidArgumentTopicName: '../../etc'": [a_topic("../../etc")],
    "line 1: AAAAAAAAAAAAAAAAAAAAAA cannot be an id": [a_topic("orders", uuid_text(ZERO_UUID))],
    "line 2: a config is set on topic 'gone', which does not exist": [
        a_note("not alone"),
        line("ConfigRecord", resource_type=2, resource_name="gone", name="a", value="b"),
    ],
    "line 1: EndTransactionRecord is written by the service": [line("EndTransactionRecord")],
    "line 1: KRaftVersionRecord is written by a log itself": [
        line("KRaftVersionRecord", version=0, kraft_version=1)
    ],
}


def test_what_the_service_refuses_is_refused_on_every_way_in(
    metalog: Metalog, log: Path, append: Append, where: tuple[str, object]
) -> None:
    for what, lines in _REFUSED.items():
        answer = append(where, *lines, options=("--json",))
        assert (answer.code, answer.error["code"]) == (3, "INVALID_RECORD"), what
        assert (answer.error["outcome"], answer.error["done_to"]) == ("nothing", None), what
        assert what in answer.error["message"]
    assert append(where, a_note("fine")).code == 0
    assert notes(metalog, log) == ["fine"]


def test_records_are_written_in_the_layouts_of_the_metadata_version(
    metalog: Metalog, log: Path, append: Append
) -> None:
    where = ("--log", log)
    metalog("brokers", "register", 1, *where)
    # Before level 15 a partition has no directories, and the oldest layout.
    append(where, line("FeatureLevelRecord", name="metadata.version", feature_level=14))
    alone = {**PARTITION, "replicas": [1], "isr": [1], "leader": -1}
    newest = json.dumps({"type": "PartitionRecord", "data": alone, "record_version": 2})
    assert append(where, a_topic("orders"), newest).code == 0
    (row,) = metalog("dump", log, "--type", "PartitionRecord", "--json").lines
    assert row["record_version"] == 0


def test_the_end_can_be_named(
    metalog: Metalog, log: Path, append: Append, where: tuple[str, object]
) -> None:
    append(where, a_note("first"))
    end = metalog("info", log, "--json").json["log_end"]
    late = append(where, a_note("late"), options=("--expected-end-offset", end - 1, "--json"))
    assert (late.code, late.error["code"]) == (3, "INVALID_UPDATE_VERSION")
    assert late.error["outcome"] == "nothing"
    assert late.error["message"].startswith("line 1: the log ends at ")
    assert "mend" not in late.error["message"]  # the file is not at fault
    end = metalog("info", log, "--json").json["log_end"]
    batches = ("--batch", 1, "--expected-end-offset", end)
    answer = append(where, a_note("second"), a_note("third"), options=batches)
    assert answer.code == 0, answer.err
    assert notes(metalog, log) == ["first", "second", "third"]


def test_answer_says_where_the_log_ends_whichever_way_it_went(
    metalog: Metalog, log: Path, append: Append, where: tuple[str, object]
) -> None:
    for lines in ([], [a_note("first")], [a_note("first")]):
        told = append(where, *lines, options=("--json",)).json
        info = metalog("info", log, "--json").json
        for name in ("as_of", "history_start", "log_end", "not_understood"):
            assert told[name] == info[name], (lines, name)
        assert told.keys() - info.keys() == {
            *("records", "batches", "first_offset", "last_offset", "last_line"),
            *("already_records", "already_batches", "already_to"),
        }


def versions(metalog: Metalog, log: Path) -> dict[str, int]:
    parts = metalog("image", log, "--json").json["parts"].values()
    return {o["object"]: o["version"] for part in parts for o in part if "version" in o}


def test_the_version_of_an_object_can_be_named(
    metalog: Metalog, log: Path, append: Append, where: tuple[str, object]
) -> None:
    def expecting(text: str, *expected: str) -> Answer:
        options = [part for each in expected for part in ("--expect", each)]
        return append(where, a_note(text), options=(*options, "--json"))

    assert expecting("none yet", "topic:orders=absent", "partition:orders/0=absent").code == 0
    made = append(where, a_topic("orders"), options=("--json",)).json
    seen = versions(metalog, log)
    assert seen == {"topic:orders": made["first_offset"]}
    config = line("ConfigRecord", resource_type=2, resource_name="orders", name="a", value="1")
    append(where, config)
    expected = [f"{name}={version}" for name, version in seen.items()]
    assert expecting("untouched", *expected, "config:topic/orders=absent").code == 3
    current = versions(metalog, log)["config:topic/orders"]
    assert expecting("untouched", *expected, f"config:topic/orders={current}").code == 0
    late = expecting("late", f"config:topic/orders={current - 1}")
    assert (late.code, late.error["code"]) == (3, "INVALID_UPDATE_VERSION")
    assert f"is at version {current}, expected {current - 1}" in late.error["message"]
    assert notes(metalog, log) == ["none yet", "untouched"]


@pytest.mark.parametrize("text", ["topic:orders", "topic:orders=", "topic:orders=new"])
def test_a_version_that_is_none_is_wrong_usage(log: Path, append: Append, text: str) -> None:
    assert append(("--log", log), a_note("n"), options=("--expect", text)).code == 2


@pytest.mark.parametrize("name", ["user:ann", "broker:1", "cluster", "topic:", "topic:a#name"])
def test_only_what_has_a_version_can_be_expected(log: Path, append: Append, name: str) -> None:
    refused = append(("--log", log), a_note("n"), options=("--expect", f"{name}=1"))
    assert refused.code == 2
    assert f"'{name}' has no version; write KIND:NAME" in " ".join(refused.err.split())


def test_a_run_that_is_repeated_appends_nothing_twice(
    metalog: Metalog, log: Path, append: Append, where: tuple[str, object]
) -> None:
    lines = [a_note(str(n)) for n in range(5)]
    first = append(where, *lines, options=("--batch", 2, "--json")).json
    again = append(where, *lines, options=("--batch", 2, "--json")).json
    assert (first["records"], first["already_records"]) == (5, 0)
    assert (again["records"], again["already_records"]) == (0, 5)
    assert again["already_to"] == first["last_offset"]
    assert notes(metalog, log) == [str(n) for n in range(5)]


def test_a_run_that_is_repeated_on_another_way_appends_nothing_twice(
    metalog: Metalog, log: Path, append: Append
) -> None:
    lines = [a_note(str(n)) for n in range(5)]
    options = ("--principal", "User:ada", "--json")
    append(("--log", log), *lines, options=options)
    with serving(log) as served:
        for server in (served.kafka, served.socket):
            assert append(("--server", server), *lines, options=options).json["records"] == 0
    assert notes(metalog, log) == [str(n) for n in range(5)]


@pytest.mark.parametrize(
    ("size", "batch_offsets", "count"),
    [
        (1_000, [None] * 2_500, 3),
        (500, [0] * 2_500, 5),
        (None, [1, 1, 2, 3, 3, 3], 3),
        (None, [None, None, 7], 2),
        (1, [], 0),
    ],
)
def test_a_file_is_searched_for_as_many_batches_as_it_can_have(
    size: int | None, batch_offsets: list[int | None], count: int
) -> None:
    lines = [json.dumps({"type": "NoOpRecord", "batch_offset": at}) for at in batch_offsets]
    file = io.BytesIO("".join(f"{text}\n" for text in lines).encode())
    assert file_request(file, None, size=size).batch_count_max == count
    assert file.tell() == 0


def test_own_request_id_distinguishes_runs(
    metalog: Metalog, log: Path, append: Append, where: tuple[str, object]
) -> None:
    for request_id in ("monday", "monday", "tuesday"):
        append(where, a_note("same"), options=("--request-id", request_id))
    assert notes(metalog, log) == ["same", "same"]
    other = append(where, a_note("other"), options=("--request-id", "monday"))
    assert (other.code, other.err.count("was used for another request")) == (3, 1)
    assert append(where, a_note("x"), options=("--request-id", "")).code == 3


def test_a_file_that_is_cut_in_another_way_is_no_repetition(
    metalog: Metalog, log: Path, append: Append
) -> None:
    lines = [a_note(str(n)) for n in range(4)]
    append(("--log", log), *lines, options=("--batch", 2))
    other = append(("--log", log), *lines, options=("--batch", 1))
    assert (other.code, other.err.count("was used for another request")) == (3, 1)
    assert len(notes(metalog, log)) == 4


def test_what_the_log_has_forgotten_of_a_file_is_not_appended_again(
    metalog: Metalog, log: Path, append: Append, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log remembers only the last requests, so it knows the end of a long file but not its
    start.

    The command must not append the start again.
    """
    monkeypatch.setattr("metadata_log.writer.request_window.REQUEST_WINDOW_OFFSETS", 20)
    assert limits.REQUEST_WINDOW_OFFSETS > 20
    lines = [a_note(str(n)) for n in range(50)]
    where = ("--log", log)
    append(where, *lines, options=("--batch", 5))
    again = append(where, *lines, options=("--batch", 5, "--json")).json
    assert (again["records"], again["already_records"]) == (0, 50)
    assert len(notes(metalog, log)) == 50


def test_a_refusal_in_between_says_what_stands_and_where_to_go_on(
    metalog: Metalog, log: Path, append: Append, where: tuple[str, object]
) -> None:
    lines = [a_note("a"), a_note("b"), a_note("c"), a_topic("../../etc")]
    answer = append(where, *lines, options=("--batch", 2, "--json"))
    done_to = metalog("info", log, "--json").json["log_end"] - 1
    assert answer.code == 3
    assert (answer.error["outcome"], answer.error["done_to"]) == ("partial", done_to)
    assert answer.error["message"].startswith("line 4: ")
    assert (
        f"the 2 records before, lines up to 2, are committed up to offset {done_to}"
        in (answer.error["message"])
    )
    assert notes(metalog, log) == ["a", "b"]


def a_large_file(path: Path, count: int) -> Path:
    """Write notes of random text, which compression does not make smaller."""
    rng = Random(7)
    path.write_text("".join(f"{a_note(f'{n} {rng.randbytes(500).hex()}')}\n" for n in range(count)))
    return path


def _append_with_full_disk(log: Path, file: Path, size_bytes: int, *options: str) -> Answer:
    """Run the command in a process whose files cannot grow beyond a size."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))

    done = subprocess.run(
        [sys.executable, "-m", "api.cli", "append", "--log", str(log), str(file), *options],
        cwd=ROOT,
        # Python would leave a truncated .pyc behind, which later processes cannot load.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def test_a_full_disk_says_what_stands_and_the_same_command_goes_on(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    file = a_large_file(tmp_path / "many", 200)
    options = ("--batch", "10", "--json")
    failed = _append_with_full_disk(log, file, 60_000, *options)
    assert (failed.code, failed.out) == (4, "")
    stands = notes(metalog, log)
    assert 10 <= len(stands) < 200 and len(stands) % 10 == 0
    error = failed.error
    end = metalog("dump", log, "--type", "NoteRecord", "--json").lines[-1]["offset"]
    assert (error["code"], error["outcome"], error["done_to"]) == ("UNAVAILABLE", "partial", end)
    assert "no room on the disk" in error["message"]
    assert (
        f"the {len(stands)} records before, lines up to {len(stands)}, are committed"
        in (error["message"])
    )
    assert "run the same command again" in error["message"]
    # A new writer begins a new file: there is room for a little more.
    again = _append_with_full_disk(log, file, 20_000, *options)
    assert again.code == 4
    stands = notes(metalog, log)
    rest = metalog("append", "--log", log, file, *options).json
    assert (rest["already_records"], rest["records"]) == (len(stands), 200 - len(stands))
    counted = Counter(text.partition(" ")[0] for text in notes(metalog, log))
    assert counted == Counter(str(n) for n in range(200))


@pytest.mark.parametrize("way", ["kafka", "socket"])
def test_a_full_disk_of_a_service_says_what_stands_and_the_same_command_goes_on(
    metalog: Metalog, log: Path, tmp_path: Path, way: str
) -> None:
    file = a_large_file(tmp_path / "many", 100)
    with serving(log) as served:
        where = ("--server", getattr(served, way))
        served.limit_files(40_000)
        failed = metalog("append", *where, file, "--batch", 10, "--json")
        assert (failed.code, failed.error["outcome"]) == (4, "partial")
        stands = notes(metalog, log)
        assert 10 <= len(stands) < 100 and len(stands) % 10 == 0
        _lift_limit(served)
        rest = metalog("append", *where, file, "--batch", 10, "--json").json
        assert (rest["already_records"], rest["records"]) == (len(stands), 100 - len(stands))
    assert len(notes(metalog, log)) == len(set(notes(metalog, log))) == 100


def _lift_limit(served: Served) -> None:
    _, hard = resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE)
    served.limit_files(hard)


def test_lines_of_a_pipe_can_be_repeated_too(metalog: Metalog, log: Path) -> None:
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "api.cli", "append", "--log", str(log), "-"],
            cwd=ROOT,
            input=f"{a_note('piped')}\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    assert done.stdout.endswith("nothing to append\n")
    assert notes(metalog, log) == ["piped"]


def test_one_of_log_and_server_is_named(metalog: Metalog, tmp_path: Path, log: Path) -> None:
    (tmp_path / "lines").write_text(a_note("x"))
    neither = metalog("append", tmp_path / "lines", "--json")
    both = metalog("append", tmp_path / "lines", "--log", log, "--server", "x:1", "--json")
    for answer in (neither, both):
        assert (answer.code, answer.error["code"]) == (2, "USAGE")
