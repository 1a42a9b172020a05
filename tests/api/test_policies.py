"""Policies written by an operator, named to `serve` like in Kafka."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.conftest import Metalog
from tests.stories.processes import World

_POLICY = """
from records.errors import RequestError

def topics(planned):
    if planned.partitions > 2:
        raise RequestError("POLICY_VIOLATION", f"{planned.name}: two partitions at most")

def configs(planned):
    if planned.configs.get("retention.ms") == "-1":
        raise RequestError("POLICY_VIOLATION", f"{planned.resource_name}: not for ever")
    planned.configs["broken"] if "flush.ms" in planned.configs else None
"""


@pytest.fixture
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module with policies that processes of this test can import."""
    (tmp_path / "rules_of_ours.py").write_text(_POLICY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "rules_of_ours"
    sys.modules.pop("rules_of_ours", None)


async def test_policies_refuse_topics_and_configs(
    metalog: Metalog, tmp_path: Path, policies: str
) -> None:
    world = World(tmp_path)
    try:
        await world.serve(
            f"--config=create.topic.policy.class.name={policies}:topics",
            f"--config=alter.config.policy.class.name={policies}:configs",
        )
        await world.start_brokers(1)
        at = ("--server", f"kafka://127.0.0.1:{world.port}")

        async def told(*arguments: str) -> tuple[int, str]:
            answer = await asyncio.to_thread(metalog, *arguments, *at)
            return answer.code, answer.err.strip()

        create = ("topics", "create")
        assert await told(*create, "wide", "--partitions", "3") == (
            3,
            "error: POLICY_VIOLATION: wide: two partitions at most",
        )
        forever = (3, "error: POLICY_VIOLATION: orders: not for ever")
        assert await told(*create, "orders", "--config", "retention.ms=-1") == forever
        assert (await told(*create, "orders", "--partitions", "2"))[0] == 0
        assert await told("configs", "set", "topic/orders", "retention.ms=-1") == forever
        assert await told("topics", "alter", "orders", "--config", "retention.ms=-1") == forever
        assert await told("configs", "set", "topic/orders", "flush.ms=1") == (
            3,
            "error: POLICY_VIOLATION: the policy rules_of_ours:configs failed: KeyError: 'broken'",
        )
        assert (await told("configs", "set", "topic/orders", "retention.ms=5"))[0] == 0
    finally:
        await world.end()


@pytest.mark.parametrize("path", ["no_such_module:f", "json:no_such_function", "json", "json:_x:y"])
def test_policy_that_is_not_there_is_wrong_usage(
    metalog: Metalog, tmp_path: Path, path: str
) -> None:
    metalog("init", tmp_path / "log")
    config = f"alter.config.policy.class.name={path}"
    answer = metalog("serve", tmp_path / "log", "--config", config)
    assert answer.code == 2
    assert "is no package.module:function" in answer.err.replace("\n", " ")
