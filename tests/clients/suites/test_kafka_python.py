"""kafka-python's suite, from its source distribution, with a service and one broker."""

import asyncio
import os
import signal
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.clients.suites.left_out import left_out
from tests.docs_console import ROOT
from tests.postgres import postgres_server, text_of
from tests.stories.nodes import NodesWorld
from tests.stories.processes import World, soon

SUITE = ROOT / ".venv" / "suites" / "kafka-python"
LEFT_OUT = left_out("kafka_python")

_RIGHTS = ("--authorizer=acl", "--super-user=User:ANONYMOUS")

_LONGEST_S = 240
"""Longest time of a run; the tests take 15 s, and those of the list wait for groups."""

_SOME_TOPICS = 5
"""Topics of the suite after which it is in the middle."""

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(autouse=True)
def _suite() -> None:
    if not SUITE.exists():
        assert "METALOG_REQUIRE_CLIENTS" not in os.environ, "make .venv/suites/installed"
        pytest.skip("the suite is not installed: make .venv/suites/installed")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def broker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """A cluster with broker 0; the broker's address."""
    world = World(tmp_path_factory.mktemp("world"))
    try:
        yield await _address(world)
    finally:
        await world.end()


async def _address(world: World) -> str:
    """Serve, start broker 0, and return its address."""
    await world.serve(*_RIGHTS)
    # The suite assigns replicas to broker 0, and writes to topics that do not exist.
    await world.start_broker(0, "--auto-create-topics", *_RIGHTS)
    ready = await world.brokers[0].is_ready()
    return str(ready.ready["listen"])


async def test_all_pass_but_those_of_the_list(broker: str, tmp_path: Path) -> None:
    outcomes = await _run(broker, tmp_path / "outcomes.xml")
    assert len(outcomes) >= 45
    assert {name: text for name, text in outcomes.items() if text} == {}


@pytest.mark.heavy
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_all_pass_while_a_leader_of_nodes_ends(tmp_path: Path, how: signal.Signals) -> None:
    with postgres_server(durable=True) as store:
        world = NodesWorld(tmp_path, text_of(store))
        try:
            suite = asyncio.create_task(_run(await _address(world), tmp_path / "outcomes.xml"))
            await soon(lambda: world.image().topic_count >= _SOME_TOPICS)
            await world.fail_over(how)
            assert not suite.done(), "the suite was faster than the leader's end"
            outcomes = await suite
        finally:
            await world.end()
    assert len(outcomes) >= 45
    assert {name: text for name, text in outcomes.items() if text} == {}


@pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")
async def test_mend_requests_a_topic_that_was_added_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kafka.cluster import ClusterMetadata
    from kafka.protocol.metadata import MetadataResponse

    from tests.clients.suites.kafka_python_mend import mend, update_as_released

    def requests_it() -> bool:
        metadata = ClusterMetadata()
        metadata.set_topics(["orders"])
        broker = MetadataResponse.MetadataResponseBroker(0, "localhost", 9092, None, version=12)
        metadata.update_metadata(MetadataResponse(version=12, brokers=[broker], topics=[]))
        return bool(metadata.need_update)

    monkeypatch.setattr(ClusterMetadata, "update_metadata", update_as_released)
    assert not requests_it(), "this release needs no mend"
    mend()
    assert requests_it()


@pytest.mark.heavy
async def test_each_of_the_list_would_not_pass(broker: str, tmp_path: Path) -> None:
    outcomes = await _run(broker, tmp_path / "outcomes.xml", "--timeout=10", listed=True)
    assert [name for name, text in outcomes.items() if not text] == []


async def _run(broker: str, report: Path, *more: str, listed: bool = False) -> dict[str, str]:
    """Run the suite; return what each test that did not pass says, and "" for those that passed."""
    settings = {
        "SUITE": str(SUITE),
        "LISTED": "\n".join(LEFT_OUT),
        **({"RUN_LISTED": "1"} if listed else {}),
        "KAFKA_VERSION": "4.2",
        "KAFKA_URI": f"kafka://{broker}",
        "KAFKA_ROOT": str(SUITE),
        "PYTHONPATH": str(ROOT),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-p", "tests.clients.suites.kafka_python_plugin"),
        "test/integration",
        *("--import-mode=importlib", "--override-ini=addopts=", "--timeout=60"),
        *(f"--junitxml={report}", "--override-ini=junit_family=xunit1", *more),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=SUITE,
        env=os.environ | settings,
    )
    try:
        async with asyncio.timeout(_LONGEST_S):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    # 0 and 1: all passed, some failed. Anything else: the tests did not run.
    assert process.returncode in (0, 1), out.decode()[-4_000:]
    return {
        f"{case.get('file', '').rpartition('/')[2]}::{case.get('name')}": "\n".join(
            [
                each.get("message", "") + (each.text or "")[-2_000:]
                for each in case
                if each.tag in ("failure", "error", "skipped")
            ]
        )
        for case in ElementTree.parse(report).iter("testcase")
    }
