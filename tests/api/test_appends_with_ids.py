"""A batch's request id works without a hash by every way in, and contradictions are refused."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from api.clients.reconnecting_client import ReconnectingClient
from api.security.listeners import LOCAL
from api.server import ServeOptions, serving
from api.service.service import Service
from api.service.session import Session
from api.socket.client import SocketClient
from controller.authorization.caller import Caller
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.raw_appends.raw_append import AppendRecords, append_records
from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Uuid
from records.control import NoteRecord
from records.envelope import Origin
from records.errors import RequestError, UnavailableError
from records.topics import NamespaceRecord
from replay.timeline import Timeline

Append = Callable[[NewBatch], Awaitable[AppendResult]]
_CALLER = Caller(principal="User:ada")
_NAMESPACE = NamespaceRecord(name="a", namespace_id=Uuid(bytes(range(16))))


@asynccontextmanager
async def _service(log: Path) -> AsyncIterator[Append]:
    async with await Service.open(log, with_timers=False) as service:
        yield lambda batch: service.append(batch, caller=_CALLER)


@asynccontextmanager
async def _session(log: Path) -> AsyncIterator[Append]:
    async with await Service.open(log, with_timers=False) as service:
        yield Session(service, _CALLER).append


@asynccontextmanager
async def _socket(log: Path) -> AsyncIterator[Append]:
    async with serving(ServeOptions(log=log, socket=LOCAL)) as running:
        assert running.socket is not None
        client = await SocketClient.connect("127.0.0.1", running.socket.port)
        yield client.append
        await client.close()


@asynccontextmanager
async def _reconnecting(log: Path) -> AsyncIterator[Append]:
    async with serving(ServeOptions(log=log, socket=LOCAL)) as running:
        assert running.socket is not None
        async with ReconnectingClient(f"socket://127.0.0.1:{running.socket.port}") as client:
            yield client.append


@pytest.mark.parametrize("way_in", [_service, _session, _socket, _reconnecting])
async def test_repeated_id_appends_once_and_contradictions_are_refused(
    way_in: Callable[[Path], AbstractAsyncContextManager[Append]], tmp_path: Path
) -> None:
    create_log(tmp_path / "log", "test")
    once = NewBatch(records=(_NAMESPACE,), origin=Origin(request_id="r1"))
    async with way_in(tmp_path / "log") as append:
        assert await append(once) == await append(once)
        with pytest.raises(RequestError, match=r"'r1' (was used for|is) another request"):
            await append(NewBatch(records=(_note(),), origin=Origin(request_id="r1")))
        with pytest.raises(RequestError, match="namespace") as refused:
            await append(NewBatch(records=(_NAMESPACE,)))
        assert refused.value.code == "INVALID_RECORD"
    with LogReader.open(tmp_path / "log") as log:
        assert [each.name for each in Timeline.of(log).image().namespaces()] == ["a"]


async def test_repeated_command_with_an_id_in_its_origin_runs_once(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "test")
    origin, request = Origin(request_id="r1"), CreateNamespace(name="a")
    async with await Service.open(tmp_path / "log", with_timers=False) as service:
        first, again = [
            await service.run("namespaces create", request, caller=_CALLER, origin=origin)
            for _ in range(2)
        ]
        assert first.end_offset == again.end_offset
        with pytest.raises(RequestError, match="has no hash") as refused:
            await service.submit(
                lambda context: append_records(context, AppendRecords(records=(_note(),))),
                origin=origin,
            )
        assert refused.value.code == "INVALID_REQUEST"


def _note() -> NoteRecord:
    return NoteRecord(at_offset=0, author="ada", text="seen")


@pytest.mark.parametrize("opened", [MetadataLog.open, Service.open])
async def test_log_is_released_at_the_end_of_the_block(
    opened: Callable[[Path], Awaitable[MetadataLog | Service]], tmp_path: Path
) -> None:
    create_log(tmp_path / "log", "test")
    with pytest.raises(ZeroDivisionError):
        async with await opened(tmp_path / "log"):
            _ = 1 / 0
    async with await opened(tmp_path / "log"):
        with pytest.raises(UnavailableError):
            await opened(tmp_path / "log")
