"""Clients that know nothing of us use the service and its brokers."""

import asyncio
import json
import sys
from itertools import chain

import pytest

from tests.stories.processes import World

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("bootstrap", ["controller", "broker"])
@pytest.mark.parametrize("client", ["kafka_python_client", "librdkafka_client"])
async def test_unmodified_client_creates_writes_reads_and_deletes(
    world: World, client: str, bootstrap: str
) -> None:
    addresses = {
        "controller": f"127.0.0.1:{world.port}",
        "broker": world.brokers[2].ready["listen"],
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", f"tests.stories.{client}", addresses[bootstrap]),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        out, err = await process.communicate()
        pytest.fail(f"the client hangs: {err.decode()[-2_000:]}")
    assert process.returncode == 0, err.decode()[-2_000:]
    assert json.loads(out) == {
        "refused": True,
        "offsets": list(chain.from_iterable(zip(range(10), range(10), strict=True))),
        "read": list(range(20)),
        "at_time": 1,
        "listed": True,
        "deleted": True,
        # Clients place replicas on the nodes that they are told of, so only brokers are.
        "nodes": [1, 2, 3],
        "controller_is_a_broker": True,
    }
