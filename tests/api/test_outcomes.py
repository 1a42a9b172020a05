"""The error of a failed request agrees with what the log contains afterwards.

Each row of the tables in docs/socket.md and docs/reliability.md is reproduced with `metalog serve`.
"""

import asyncio
import json
import re
import resource
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
import pytest

from api.clients.client import MetadataClient
from api.socket.client import SocketClient
from controller.decision_steps import STEP_RECORDS
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.decisions.versions import ExpectedVersion
from metadata_log.files.fs import OsFs
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.claims import claim_epoch
from metadata_log.writer.log import MetadataLog
from records.base import Record, Uuid
from records.control import BeginTransactionRecord, NoteRecord
from records.envelope import Origin
from records.errors import (
    CorruptLogError,
    FencedError,
    MetadataLogError,
    Outcome,
    RequestError,
    UnavailableError,
)
from records.topics import RemoveTopicRecord
from tests.api.conftest import Metalog
from tests.api.services import Served, active_segment, serving
from tests.docs_console import ROOT

FAMILIES = {
    "request": RequestError,
    "unavailable": UnavailableError,
    "fenced": FencedError,
    "corrupt": CorruptLogError,
}


def table(document: str, first_column: str) -> list[list[str]]:
    """Return the rows of the table whose first column has the heading `first_column`."""
    lines = (ROOT / "docs" / document).read_text().splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {first_column} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("`*") for cell in line.strip("|").split("|")])
    return rows


@pytest.fixture
def log(metalog: Metalog, tmp_path: Path) -> Path:
    metalog("init", tmp_path / "log")
    return tmp_path / "log"


def note(text: str, request_id: str | None = None) -> NewBatch:
    request_hash = None if request_id is None else text.encode()
    return NewBatch(
        records=(NoteRecord(at_offset=0, author="ann", text=text),),
        origin=Origin(request_id=request_id, request_hash=request_hash),
    )


def batch(record: Record) -> NewBatch:
    return NewBatch(records=(record,))


def notes_after_the_next_start(log: Path) -> list[str]:
    """Return the notes after a new writer has recovered the log, which may cut its tail."""

    async def start() -> None:
        await (await MetadataLog.open(log)).close()

    asyncio.run(start())
    with LogReader.open(log) as reader:
        rows = [row.payload for found in reader.batches() for row in found.rows]
    return [record.text for record in rows if isinstance(record, NoteRecord)]


Scenario = Callable[[Served, SocketClient, Path], Awaitable[object]]


async def _contradict(served: Served, client: SocketClient, _: Path) -> object:
    return await client.append(batch(RemoveTopicRecord(topic_id=Uuid(b"7" * 16))))


async def _bracket(served: Served, client: SocketClient, _: Path) -> object:
    return await client.append(batch(BeginTransactionRecord(name="mine")))


async def _expect_another_end(served: Served, client: SocketClient, _: Path) -> object:
    return await client.append(note("failed"), expected_end_offset=0)


async def _expect_another_version(served: Served, client: SocketClient, _: Path) -> object:
    return await client.append(
        note("failed"), expected_versions=(ExpectedVersion("namespace:org", 7),)
    )


async def _take_an_id(served: Served, client: SocketClient, _: Path) -> object:
    await client.append(note("first", "r1"))
    return await client.append(note("failed", "r1"))


async def _fill_disk(served: Served, client: SocketClient, _: Path) -> object:
    served.fill_disk()
    return await client.append(note("failed"))


async def _claim(served: Served, client: SocketClient, _: Path) -> object:
    claim_epoch(OsFs(), served.log, served.leader_epoch)
    return await client.append(note("failed"))


async def _fail_sync(served: Served, client: SocketClient, trigger: Path) -> object:
    trigger.touch()
    return await client.append(note("failed"))


async def _kill(served: Served, client: SocketClient, _: Path) -> object:
    # Stopped it takes the bytes in, but cannot answer any more.
    served.process.send_signal(signal.SIGSTOP)
    answer = asyncio.ensure_future(client.append(note("failed")))
    await asyncio.sleep(0.05)
    served.process.kill()
    return await answer


async def _lose_connection(served: Served, client: SocketClient, _: Path) -> object:
    served.process.kill()
    served.process.wait(timeout=60)
    await asyncio.wait([client._link.lost], timeout=60)
    return await client.append(note("failed"))


SCENARIOS: dict[str, Scenario] = {
    "a record contradicts the state": _contradict,
    "a record cannot be written by callers": _bracket,
    "the log does not end at the expected offset": _expect_another_end,
    "an object is not in the expected version": _expect_another_version,
    "the request id is another request's": _take_an_id,
    "there is no room on the disk": _fill_disk,
    "another writer claimed the log": _claim,
    "a sync failed": _fail_sync,
    "the service was killed before it answered": _kill,
    "the connection was lost before the batch was sent": _lose_connection,
}
SOCKET_TABLE = table("socket.md", "what happened")


def test_every_row_of_the_sockets_table_has_a_scenario() -> None:
    assert [row[0] for row in SOCKET_TABLE] == list(SCENARIOS)


@pytest.mark.parametrize(("what", "family", "code", "outcome"), SOCKET_TABLE)
def test_socket_says_what_became_of_the_batch(
    log: Path, tmp_path: Path, what: str, family: str, code: str, outcome: str
) -> None:
    with _served(log, tmp_path / "trigger", SCENARIOS[what]) as served:
        error = asyncio.run(_failed(SCENARIOS[what], served, tmp_path / "trigger"))
        if FAMILIES[family] is FencedError:
            # It ends by itself: it can never write again.
            assert served.ended() == 4
    assert isinstance(error, FAMILIES[family])
    assert getattr(error, "code", "") == code
    assert error.outcome is Outcome(outcome)
    is_there = "failed" in notes_after_the_next_start(log)
    if outcome == "nothing":
        assert not is_there
    elif what == "another writer claimed the log":
        # Its bytes were on the disk before the claim was found: the next writer keeps them.
        assert is_there


def _served(log: Path, trigger: Path, scenario: Scenario) -> AbstractContextManager[Served]:
    if scenario is not _fail_sync:
        return serving(log)
    return serving(log, command=(sys.executable, "-m", "tests.api.failing_sync", str(trigger)))


async def _failed(scenario: Scenario, served: Served, trigger: Path) -> MetadataLogError:
    client = await SocketClient.connect(*served.socket_address)
    await client.append(note("before"))
    with pytest.raises(MetadataLogError) as caught:
        await scenario(served, client, trigger)
    await client.close()
    return caught.value


# Faults


def _rot(log: Path, tmp_path: Path, metalog: Metalog) -> str:
    asyncio.run(_write(log, [f"note {n}" for n in range(50)]))
    segment = min(log.glob("0*.avro"))
    content = bytearray(segment.read_bytes())
    content[-40] ^= 1
    segment.write_bytes(content)
    assert metalog("verify", log).code == 1
    answer = metalog("serve", log, "--kafka", "127.0.0.1:0", "--json")
    assert (answer.code, answer.error["code"]) == (5, "CORRUPT")
    return str(answer.error["outcome"])


async def _write(log: Path, texts: list[str]) -> None:
    writer = await MetadataLog.open(log)
    for text in texts:
        await writer.append(note(text))
    await writer.close()


PARTITIONS = 6_000
"""Of each of two topics: a broker that has all of them leaves them in twelve steps."""


def _lack_room_in_between(log: Path, tmp_path: Path, metalog: Metalog) -> str:
    """Unregister a broker of 12,000 partitions when the disk has no room for the last steps."""
    at = ("--log", log)
    for broker_id in (1, 2):
        metalog("brokers", "register", broker_id, *at)
    metalog("brokers", "unfence", 1, 2, *at)
    size = ("--partitions", PARTITIONS, "--replication-factor", 2)
    for name in ("a", "b"):
        assert metalog("topics", "create", name, *size, *at).code == 0
    why = ("--reason", "x" * 200, "--request-id", "r1", "--json")
    command = ("brokers", "unregister", 1, *why)
    grown = _growth(shutil.copytree(log, tmp_path / "copy"), metalog, *command)
    with _silently_serving(log) as served:
        served.limit_files(active_segment(log).stat().st_size + grown * 92 // 100)
        failed = metalog(*command, "--server", served.kafka)
    changes = metalog("dump", log, "--type", "PartitionChangeRecord", "--json").lines
    assert len(changes) in range(STEP_RECORDS, 2 * PARTITIONS, STEP_RECORDS)
    error = failed.error
    assert (failed.code, error["code"]) == (4, "UNAVAILABLE")
    assert error["done_to"] == changes[-1]["offset"]
    assert f"the records up to offset {error['done_to']} are committed" in error["message"]
    assert "ask again with --request-id r1" in error["message"]
    assert metalog(*command, *at).code == 0
    changes = metalog("dump", log, "--type", "PartitionChangeRecord", "--json").lines
    changed = [(row["data"]["topic_id"], row["data"]["partition_id"]) for row in changes]
    assert len(changed) == len(set(changed)) == 2 * PARTITIONS
    return str(error["outcome"])


def _growth(log: Path, metalog: Metalog, *command: object) -> int:
    """Return the number of bytes by which a command makes the segment of a service grow."""
    with _silently_serving(log) as served:
        start = active_segment(log).stat().st_size
        assert metalog(*command, "--server", served.kafka).code == 0
        return active_segment(log).stat().st_size - start


def _silently_serving(log: Path) -> AbstractContextManager[Served]:
    """Serve a log whose brokers send no heartbeats, without fencing them."""
    return serving(log, "--session-timeout-ms", 600_000)


SAME_AS_OF_THE_SOCKET = {
    "process killed": "the service was killed before it answered",
    "disk full": "there is no room on the disk",
    "write or sync fails": "a sync failed",
    "lock does not hold (a file system that several machines share)": (
        "another writer claimed the log"
    ),
}
FAULTS: dict[str, Callable[[Path, Path, Metalog], str]] = {
    "disk full in the middle of a decision of several batches": _lack_room_in_between,
    "bits rot, blocks or files go missing, are exchanged or repeated": _rot,
}
FAULT_TABLE = {row[0]: row[2] for row in table("reliability.md", "fault") if row[2] != "simulated"}


def test_every_fault_that_is_not_simulated_happens_to_a_service() -> None:
    assert FAULT_TABLE.keys() == {*SAME_AS_OF_THE_SOCKET, *FAULTS}
    outcomes = {row[0]: row[3] for row in SOCKET_TABLE}
    for fault, what in SAME_AS_OF_THE_SOCKET.items():
        assert FAULT_TABLE[fault] == outcomes[what], fault


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_has_the_outcome_that_the_table_says(
    metalog: Metalog, log: Path, tmp_path: Path, fault: str
) -> None:
    assert FAULTS[fault](log, tmp_path, metalog) == FAULT_TABLE[fault]


# Other ways in


def test_a_full_disk_is_over_when_there_is_room(log: Path) -> None:
    async def run(served: Served) -> None:
        client = await SocketClient.connect(*served.socket_address)
        served.fill_disk()
        asked = [client.append(note(f"failed {n}")) for n in range(20)]
        for answer in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(answer, MetadataLogError)
            assert answer.outcome is Outcome.NOTHING
        _, hard = resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE)
        served.limit_files(hard)
        await client.append(note("after"))
        await client.close()

    with serving(log) as served:
        asyncio.run(run(served))
    assert notes_after_the_next_start(log) == ["after"]


def test_command_names_the_outcome_and_how_to_ask_again(metalog: Metalog, log: Path) -> None:
    create = ("namespaces", "create", "org")
    with serving(log) as served:
        server = ("--server", served.kafka)
        served.fill_disk()
        full = metalog(*create, *server, "--json")
        assert (full.code, full.error["code"], full.error["outcome"]) == (
            4,
            "UNAVAILABLE",
            "nothing",
        )
        _, hard = resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE)
        served.limit_files(hard)
        claim_epoch(OsFs(), log, served.leader_epoch)
        fenced = metalog(*create, *server, "--request-id", "r1", "--json")
        assert (fenced.code, fenced.error["outcome"]) == (4, "unknown")
        message = fenced.error["message"]
        assert "the outcome is unknown" in message
        assert "ask again with --request-id r1: it is done once" in message
        assert served.ended() == 4
        assert served.process.stderr is not None
        last = json.loads(served.process.stderr.read().splitlines()[-1])
        assert (last["code"], last["outcome"]) == ("FENCED", "nothing")
    with serving(log) as served:
        again = metalog(*create, "--server", served.kafka, "--request-id", "r1", "--json")
        assert again.code == 0, again.err
    listed = metalog("namespaces", "list", "--log", log, "--json").json["namespaces"]
    assert [namespace["name"] for namespace in listed] == ["org"]


def test_kafka_client_gets_the_outcome(log: Path) -> None:
    async def outcome_of(served: Served, name: str) -> Outcome:
        async with await MetadataClient.connect(served.kafka) as client:
            with pytest.raises(UnavailableError) as caught:
                await client.run("namespaces create", CreateNamespace(name))
            return caught.value.outcome

    with serving(log) as served:
        _, hard = resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE)
        served.fill_disk()
        assert asyncio.run(outcome_of(served, "a")) is Outcome.NOTHING
        served.limit_files(hard)
        claim_epoch(OsFs(), log, served.leader_epoch)
        assert asyncio.run(outcome_of(served, "b")) is Outcome.UNKNOWN


def test_usage_errors_are_json_too(metalog: Metalog) -> None:
    for arguments in (["dump", "--json", "--no-such"], ["nothing", "--json"], ["append", "--json"]):
        answer = metalog(*arguments)
        assert answer.code == 2
        assert answer.error["code"] == "USAGE"
        assert (answer.error["outcome"], answer.error["done_to"]) == ("nothing", None)
        assert re.search("--help", answer.error["message"])
    assert msgspec.json.decode(metalog("dump", "none", "--json").err)["code"]
