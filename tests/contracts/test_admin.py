"""The contract of `Admin`: on a directory, in the service's process, and over both protocols."""

import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from msgspec.structs import replace

from api.admin.admin import Admin
from api.admin.local import LocalAdmin
from api.clients.reconnecting_client import ReconnectingClient
from api.clients.service_url import connect
from api.nodes.node_service import NodeService
from api.nodes.operations import ask_to_hand_over
from api.requests.transactions import NAME as TRANSACTION
from api.requests.transactions import Step, Transact
from api.security.listeners import LOCAL
from api.server import ServeOptions, Serving, serving
from api.service.session import Session
from controller.authorization.caller import Caller
from controller.decisions.configs.changes import AlterConfigs, ConfigChange, ResourceChange
from controller.decisions.namespaces.namespaces import CreateNamespace, DeleteNamespace
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from records.base import Record
from records.configs import ConfigRecord
from records.envelope import Envelope
from records.errors import Outcome, RequestError
from records.topics import NamespaceRecord
from replay.image.configs import TOPIC
from tests.api.kafka.servers import CLUSTER_ID
from tests.api.nodes.group import Group, Member

ANN = "User:ann"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
CREATE, DELETE = "namespaces create", "namespaces delete"

BROKER = 4
KEY = "log.retention.ms"
CHANGES = AlterConfigs(
    resources=tuple(
        ResourceChange(resource_type=kind, resource_name=name, changes=(ConfigChange(key, "1000"),))
        for kind, name, key in ((TOPIC, "missing", "retention.ms"), (BROKER, "", KEY))
    )
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    create_log(tmp_path / "log", CLUSTER_ID)
    return tmp_path / "log"


@pytest_asyncio.fixture(
    params=["directory", "process", "kafka", "socket", "nodes, kafka", "nodes, socket"]
)
async def admin(request: pytest.FixtureRequest, log: Path) -> AsyncIterator[Admin]:
    if request.param == "directory":
        yield LocalAdmin(log, principal=ANN)
        return
    if "nodes" in request.param:
        async with moved_leader(log, request.param.removeprefix("nodes, ")) as client:
            yield client
        return
    options = ServeOptions(log=log, socket=LOCAL)
    async with contextlib.AsyncExitStack() as closing:
        running = await closing.enter_async_context(serving(options))
        if request.param == "process":
            yield Session(running.service, Caller(principal=ANN))
            return
        assert running.socket is not None
        ports = {"kafka": running.kafka.port, "socket": running.socket.port}
        url = f"{request.param}://127.0.0.1:{ports[request.param]}"
        yield await closing.enter_async_context(await connect(url))


class ListeningMember(Member):
    """A node with listeners."""

    running: Serving

    @contextlib.asynccontextmanager
    async def _serve(self, service: NodeService) -> AsyncIterator[None]:
        options = ServeOptions(log=self.directory, socket=LOCAL)
        # In this order, because a member `serves` once it has its service.
        async with serving(options, service=service) as self.running, super()._serve(service):
            yield

    def port(self, listener: str) -> int:
        assert self.running.socket is not None
        return {"kafka": self.running.kafka.port, "socket": self.running.socket.port}[listener]


@contextlib.asynccontextmanager
async def moved_leader(log: Path, listener: str) -> AsyncIterator[ReconnectingClient]:
    """Yield a client of two nodes that was connected to one when the other began to lead.

    In place of `log` is the folder of the one that leads then.
    """
    group = Group(log.parent, 2, ListeningMember)
    group.start()
    first = await group.leader()
    (second,) = [member for member in group.members if member is not first]
    await second.serves()
    assert isinstance(first, ListeningMember)
    assert isinstance(second, ListeningMember)
    ports = [member.port(listener) for member in (first, second)]
    addresses = ",".join(f"127.0.0.1:{port}" for port in ports)
    async with ReconnectingClient(f"{listener}://{addresses}") as client:
        with contextlib.suppress(RequestError):
            await client.run(DELETE, DeleteNamespace(name="not there"))
        await ask_to_hand_over(second.log, second.number)
        await group.leader(first)
        shutil.rmtree(log)
        log.symlink_to(second.directory)
        yield client
    await group.stop()


def rows(log: Path) -> list[Envelope]:
    with LogReader.open(log) as reader:
        return [row for batch in reader.batches() for row in batch.rows]


def namespaces(log: Path) -> list[str]:
    """Return the namespaces in the order in which they were created."""
    payloads: list[Record] = [row.payload for row in rows(log)]
    return [record.name for record in payloads if isinstance(record, NamespaceRecord)]


async def test_answer_names_the_end_at_which_the_change_is_committed(
    admin: Admin, log: Path
) -> None:
    answer = await admin.run(CREATE, CreateNamespace("org"))
    assert answer.wrote
    assert answer.response.namespaces == ("org",)
    last = rows(log)[-1]
    assert isinstance(last.payload, NamespaceRecord)
    assert answer.end_offset == last.offset + 1


async def test_reason_and_trace_stand_beside_the_records(admin: Admin, log: Path) -> None:
    await admin.run(CREATE, CreateNamespace("org"), reason="new team", trace_parent=TRACE)
    origin = rows(log)[-1].origin
    assert origin is not None
    assert (origin.command, origin.reason, origin.trace_parent) == (CREATE, "new team", TRACE)


async def test_later_request_sees_the_earlier_ones(admin: Admin, log: Path) -> None:
    await admin.run(CREATE, CreateNamespace("org"))
    await admin.run(CREATE, CreateNamespace("org:team"))
    answer = await admin.run(DELETE, DeleteNamespace(name="org:team"))
    assert answer.response.namespaces == ("org:team",)
    assert namespaces(log) == ["org", "org:team"]


async def test_refused_request_writes_nothing(admin: Admin, log: Path) -> None:
    await admin.run(CREATE, CreateNamespace("org"))
    before = rows(log)
    with pytest.raises(RequestError, match="namespace 'org' exists") as refused:
        await admin.run(CREATE, CreateNamespace("org"))
    assert refused.value.code == "DUPLICATE_RESOURCE"
    assert refused.value.outcome is Outcome.NOTHING
    assert rows(log) == before


async def test_unknown_command_is_refused(admin: Admin) -> None:
    with pytest.raises(RequestError) as refused:
        await admin.run("namespaces rename", CreateNamespace("org"))
    assert refused.value.code == "INVALID_REQUEST"
    assert refused.value.outcome is Outcome.NOTHING


async def test_item_is_refused_by_itself(admin: Admin, log: Path) -> None:
    missing, broker = (await admin.run("configs alter", CHANGES)).response
    assert missing.refusal is not None
    assert missing.refusal.code == "UNKNOWN_TOPIC_OR_PARTITION"
    assert broker.refusal is None
    record = rows(log)[-1].payload
    assert isinstance(record, ConfigRecord)
    assert (record.resource_type, record.name, record.value) == (BROKER, KEY, "1000")


async def test_validated_request_writes_nothing(admin: Admin, log: Path) -> None:
    await admin.run(CREATE, CreateNamespace("org"))
    before = rows(log)
    answer = await admin.run("configs alter", replace(CHANGES, validate_only=True))
    assert not answer.wrote
    assert [result.refusal is None for result in answer.response] == [False, True]
    assert rows(log) == before


async def test_repeated_request_is_carried_out_once(admin: Admin, log: Path) -> None:
    first = await admin.run(CREATE, CreateNamespace("org"), request_id="r1")
    await admin.run(CREATE, CreateNamespace("other"))
    again = await admin.run(CREATE, CreateNamespace("org"), request_id="r1")
    assert again == first
    assert namespaces(log) == ["org", "other"]


async def test_request_id_of_another_request_is_refused(admin: Admin, log: Path) -> None:
    await admin.run(CREATE, CreateNamespace("org"), request_id="r1")
    with pytest.raises(RequestError, match=r"'r1' was used for another") as refused:
        await admin.run(CREATE, CreateNamespace("other"), request_id="r1")
    assert refused.value.code == "INVALID_REQUEST"
    assert refused.value.outcome is Outcome.NOTHING
    assert namespaces(log) == ["org"]


async def test_transaction_with_a_refused_step_changes_nothing(admin: Admin, log: Path) -> None:
    await admin.run(CREATE, CreateNamespace("org"))
    before = rows(log)
    steps = (Step.of(CREATE, CreateNamespace("a")), Step.of(CREATE, CreateNamespace("org")))
    with pytest.raises(RequestError, match="exists"):
        await admin.run(TRANSACTION, Transact(steps=steps))
    assert rows(log) == before
