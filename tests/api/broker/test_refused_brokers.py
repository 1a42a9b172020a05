"""A broker that the controller refuses says so, serves what it has, and tries again."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from api.broker.options import BrokerOptions
from api.broker.process import Ready, run_broker_until_stopped
from controller.authorization.acls import AclAuthorizer
from controller.authorization.authorizer import CLUSTER, Operation, ResourceType
from controller.authorization.caller import CONTROLLER
from controller.decisions.context.context import Settings
from controller.decisions.security.acls import AclBinding, AclFilter, CreateAcls, DeleteAcls
from tests.api.broker.test_order_of_effects import connected, create, earliest, write
from tests.api.broker.test_waiting_for_the_service import said
from tests.api.kafka.servers import Server, server
from tests.api.kafka.test_sasl import until

OPEN_WITHOUT_ACLS = Settings(authorizer=AclAuthorizer(allow_everyone=True))
FOR_ANN = AclBinding(
    resource_type=ResourceType.CLUSTER.value,
    resource_name=CLUSTER.name,
    principal="User:ann",
    operation=Operation.DESCRIBE.value,
)
REFUSES = "the service refuses this broker, which tries again: "


async def lock_out(at: Server) -> None:
    request = CreateAcls(acls=(FOR_ANN,), allow_lockout=True)
    await at.service.run("acls create", request, caller=CONTROLLER)


async def let_in(at: Server) -> None:
    await at.service.run("acls delete", DeleteAcls(filters=(AclFilter(),)), caller=CONTROLLER)


async def test_running_broker_serves_its_partitions_while_it_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        server(tmp_path, settings=OPEN_WITHOUT_ACLS) as at,
        asyncio.timeout(60),
    ):
        broker, ready = start(at, tmp_path)
        async with connected((await ready.get()).listen) as client:
            await create(client, "a")
            await lock_out(at)
            await until(lambda: any(line.startswith(REFUSES) for line in said(caplog)))
            await asyncio.sleep(1)
            assert await write(client, "a") == 0
            assert await earliest(client, "a") == 0
            assert len(said(caplog)) < 5, "not a line for each attempt"
            await let_in(at)
            await until(lambda: "the service is back" in said(caplog))
            await create(client, "b")
        await stop(broker)


async def test_broker_that_is_refused_at_its_start_joins_once_it_may(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with server(tmp_path, settings=OPEN_WITHOUT_ACLS) as at, asyncio.timeout(60):
        await lock_out(at)
        broker, ready = start(at, tmp_path)
        await until(lambda: any(line.startswith(REFUSES) for line in said(caplog)))
        assert ready.empty()
        await let_in(at)
        assert (await ready.get()).broker == 1
        await stop(broker)


async def test_broker_that_is_refused_can_be_stopped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with server(tmp_path, settings=OPEN_WITHOUT_ACLS) as at, asyncio.timeout(60):
        await lock_out(at)
        broker, _ = start(at, tmp_path)
        await until(lambda: any(line.startswith(REFUSES) for line in said(caplog)))
        await stop(broker)


def start(at: Server, directory: Path) -> tuple[asyncio.Task[None], asyncio.Queue[Ready]]:
    options = BrokerOptions(
        server=f"kafka://127.0.0.1:{at.port}",
        broker_id=1,
        log_dirs=(directory / "broker",),
        heartbeat_ms=100,
    )
    ready: asyncio.Queue[Ready] = asyncio.Queue()
    return asyncio.create_task(run_broker_until_stopped(options, ready.put_nowait)), ready


async def stop(broker: asyncio.Task[None]) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    await broker
