"""Appends to a running service go through the controller's loop, together with Kafka's requests."""

import asyncio
import contextlib
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from api.clients.client import MetadataClient
from api.security.listeners import LOCAL
from api.server import ServeOptions, Serving, serving
from api.socket.client import SocketClient
from controller.decisions.namespaces.namespaces import CreateNamespace
from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.limits import BATCH_SIZE_BYTES_MAX
from metadata_log.writer.creation import create_log
from records.base import Record, Uuid
from records.control import BeginTransactionRecord, NoteRecord
from records.envelope import Origin
from records.errors import Outcome, RequestError, UnavailableError
from records.topics import RemoveTopicRecord
from tests.api.conftest import Metalog
from tests.api.socket.conftest import CLUSTER_ID
from tests.forked_commands import METALOG


def options(directory: Path, socket_port: int = 0) -> ServeOptions:
    return ServeOptions(
        log=directory,
        socket=replace(LOCAL, port=socket_port),
    )


@contextlib.asynccontextmanager
async def _served(directory: Path) -> AsyncIterator[tuple[Serving, SocketClient]]:
    """A service of a log, and a client of its socket."""
    async with serving(options(directory)) as running:
        assert running.socket is not None
        port = running.socket.port
        client = await SocketClient.connect("127.0.0.1", port, cluster_id=CLUSTER_ID)
        try:
            yield running, client
        finally:
            await client.close()


def _note(text: str, request_id: str | None = None) -> NewBatch:
    request_hash = None if request_id is None else text.encode()
    return NewBatch(
        records=(NoteRecord(at_offset=0, author="ann", text=text),),
        origin=Origin(principal="User:ann", request_id=request_id, request_hash=request_hash),
    )


async def test_what_is_appended_is_seen_by_everybody(directory: Path) -> None:
    async with _served(directory) as (running, client):
        service = running.service
        result = await client.append(_note("one"))
        assert [n.text for n in service.image.notes()] == ["one"]
        seen = service.image.provenance
        assert (result.end_offset, result.timestamp) == (seen.next_offset, seen.timestamp)
        assert result.leader_epoch == service.controller_epoch
        async with await MetadataClient.connect(f"kafka://127.0.0.1:{running.kafka.port}") as asks:
            answer = await asks.run("namespaces create", CreateNamespace("org"))
        again = await client.append(_note("two"), expected_end_offset=answer.end_offset)
        assert again.base_offset == answer.end_offset


@pytest.mark.parametrize(
    "record", [RemoveTopicRecord(topic_id=Uuid(b"7" * 16)), BeginTransactionRecord(name="mine")]
)
async def test_what_the_state_does_not_allow_is_refused(directory: Path, record: Record) -> None:
    async with _served(directory) as (running, client):
        end = running.service.image.provenance.next_offset
        with pytest.raises(RequestError) as caught:
            await client.append(NewBatch(records=(record,)))
        assert caught.value.code == "INVALID_RECORD"
        assert running.service.image.provenance.next_offset == end


async def test_another_end_and_a_time_are_refused(directory: Path) -> None:
    async with _served(directory) as (running, client):
        end = running.service.image.provenance.next_offset
        with pytest.raises(RequestError, match=f"ends at {end}") as caught:
            await client.append(_note("late"), expected_end_offset=end - 1)
        assert caught.value.code == "INVALID_UPDATE_VERSION"
        dated = NewBatch(records=_note("dated").records, timestamp=5)
        with pytest.raises(RequestError, match="leave the time out"):
            await client.append(dated)


async def test_record_that_fits_in_a_frame_but_not_in_a_batch_is_refused_alone(
    directory: Path,
) -> None:
    async with _served(directory) as (_, client):
        notes = [_note("before"), _note("x" * BATCH_SIZE_BYTES_MAX), _note("after")]
        before, large, after = await asyncio.gather(
            *map(client.append, notes), return_exceptions=True
        )
    assert isinstance(large, RequestError)
    assert (large.code, large.outcome) == ("POLICY_VIOLATION", Outcome.NOTHING)
    assert isinstance(before, AppendResult)
    assert isinstance(after, AppendResult)
    assert after.base_offset == before.end_offset


async def test_repeated_request_is_committed_once(directory: Path) -> None:
    async with _served(directory) as (_, client):
        asked = [client.append(_note("one", "r1")) for _ in range(4)]
        first, *again = await asyncio.gather(*asked)
        assert again == [first] * 3
        assert await client.append(_note("one", "r1")) == first
        with pytest.raises(RequestError, match="'r1' was used for another request"):
            await client.append(_note("two", "r1"))
    async with _served(directory) as (running, client):
        assert await client.append(_note("one", "r1")) == first
        assert [n.text for n in running.service.image.notes()] == ["one"]


async def test_requests_stay_in_order_whether_or_not_they_have_ids(directory: Path) -> None:
    async with _served(directory) as (_, client):
        batches = [_note(str(n), None if n % 3 else f"r{n}") for n in range(60)]
        results = await asyncio.gather(*map(client.append, batches))
    offsets = [result.base_offset for result in results]
    assert offsets == list(range(offsets[0], offsets[0] + 60))


async def test_a_port_that_is_taken_ends_the_service_in_order(
    directory: Path, tmp_path: Path
) -> None:
    create_log(tmp_path / "other", CLUSTER_ID)
    async with _served(directory) as (running, _):
        assert running.socket is not None
        taken = running.socket.port
        with pytest.raises(UnavailableError, match=f"cannot listen on 127.0.0.1:{taken}"):
            async with serving(options(tmp_path / "other", taken)):
                pytest.fail("nothing is served")
    async with serving(options(tmp_path / "other")) as running:
        assert running.service.is_active


async def test_serve_names_the_socket_and_takes_appends(directory: Path) -> None:
    command = [*METALOG, "serve", str(directory), "--json"]
    with subprocess.Popen(
        [*command, "--kafka", ":0", "--socket", ":0"], stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout is not None
        host, _, port = json.loads(service.stdout.readline())["socket"].rpartition(":")
        client = await SocketClient.connect(host, int(port))
        result = await client.append(_note("one"))
        await client.close()
        service.terminate()
        assert service.wait(timeout=20) == 0
    assert result.end_offset == result.base_offset + 1


def test_a_socket_that_others_can_reach_must_authenticate(
    metalog: Metalog, directory: Path
) -> None:
    arguments = ("serve", directory, "--kafka", ":0", "--socket", "0.0.0.0:0")
    for more in ((), ("--allow-remote",)):
        answer = metalog(*arguments, *more)
        assert (answer.code, answer.err.count("write sasl_ssl://")) == (3, 1)
