"""librdkafka's suite, with a service and three brokers.

librdkafka is the core of confluent-kafka, whose package has no suite; 0081 tests its admin client.
The sources with the suite are in the package @confluentinc/kafka-javascript, and compiled by
`make .venv/suites/librdkafka/installed`.
"""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.clients.suites.left_out import left_out
from tests.docs_console import ROOT
from tests.stories.processes import World

SUITE = ROOT / ".venv" / "suites" / "librdkafka"
LEFT_OUT = left_out("librdkafka")
ADMIN = "0081"

_AT_ONCE = 4
_LONGEST_S = 900
_RIGHTS = ("--authorizer=acl", "--super-user=User:ANONYMOUS")
_NEEDS_NO_BROKER = "Filtered due to negative test flags"
_NOTHING_RAN_S = 0.001
_KAFKA = "4.1.0"
"""The version that the suite is told: share groups need 4.2."""

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.heavy,
    pytest.mark.timeout(_LONGEST_S + 60),
]


@pytest.fixture(autouse=True)
def _suite() -> None:
    if not (SUITE / "installed").exists():
        assert "METALOG_REQUIRE_CLIENTS" not in os.environ, "make .venv/suites/librdkafka/installed"
        pytest.skip("the suite is not installed: make .venv/suites/librdkafka/installed")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def brokers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The suite's default scenario: three brokers that create topics of 4 partitions."""
    world = World(tmp_path_factory.mktemp("world"))
    numbers = ("--config=num.partitions=4", "--config=default.replication.factor=3")
    try:
        await world.serve(*_RIGHTS, *numbers)
        for broker_id in (1, 2, 3):
            await world.start_broker(broker_id, "--auto-create-topics", *_RIGHTS)
        yield ",".join([(await each.is_ready()).ready["listen"] for each in world.brokers.values()])
    finally:
        await world.end()


async def test_all_pass_but_those_of_the_list(brokers: str, tmp_path: Path) -> None:
    skipped = ",".join(sorted({name for name in LEFT_OUT if "/" not in name}))
    outcomes = await _run(brokers, tmp_path, "-Q", f"-p{_AT_ONCE}", TESTS_SKIP=skipped)
    assert len(outcomes) > 30
    failed = {name: says for name, says in outcomes.items() if says and name[:4] not in LEFT_OUT}
    assert failed == {}


async def test_the_admin_client_passes_but_for_what_is_in_the_list(
    brokers: str, tmp_path: Path
) -> None:
    failed = {
        subtest: says
        for subtest in _admin_subtests()
        if f"{ADMIN}/{subtest}" not in LEFT_OUT
        and (says := await _admin_says(brokers, tmp_path, subtest))
    }
    assert failed == {}


async def test_each_of_the_list_would_not_pass(brokers: str, tmp_path: Path) -> None:
    turns = asyncio.Semaphore(_AT_ONCE)

    async def says(name: str) -> list[str]:
        number, _, subtest = name.partition("/")
        folder = tmp_path / name.replace("/", "-")
        folder.mkdir()
        async with turns:
            if subtest:
                return [await _admin_says(brokers, folder, subtest)]
            outcomes = await _run(brokers, folder, "-Q", "-p1", TESTS=number)
        return [text for test, text in outcomes.items() if test.startswith(number)]

    names = [*LEFT_OUT]
    found = await asyncio.gather(*map(says, names))
    passed = [n for n, texts in zip(names, found, strict=True) if texts and not any(texts)]
    assert passed == []


def _admin_subtests() -> list[str]:
    """Return the subtests that the admin client's test calls."""
    source = (SUITE / "tests" / "0081-admin.c").read_text()
    calls = source[source.index("static void do_test_apis(") :]
    return sorted({*re.findall(r"do_test_\w+", calls)} - {"do_test_apis"})


async def _admin_says(brokers: str, folder: Path, subtest: str) -> str:
    # In quick mode most of them would be left out.
    outcomes = await _run(brokers, folder, "-p1", TESTS=ADMIN, SUBTESTS=f"{subtest}:")
    said = (folder / "output.txt").read_text(errors="replace")
    if skipped := re.search(rf"\[ {subtest}:.*: (SKIP: .*) \]", said):
        return skipped[1]
    ran = f"[ {subtest}:" in said
    return outcomes.get("0081_admin", "it ended early") if ran else "nothing was run"


async def _run(brokers: str, folder: Path, *options: str, **settings: str) -> dict[str, str]:
    """Run tests; return what each that did not pass says, and "" for those that passed.

    A failed test may end the process before others have run, or before the report is written.
    """
    report, output = folder / "report.json", folder / "output.txt"
    conf = folder / "test.conf"
    conf.write_text(f"bootstrap.servers={brokers}\ntest.topic.random=true\n")
    own = {
        "RDKAFKA_TEST_CONF": str(conf),
        "TEST_KAFKA_VERSION": _KAFKA,
        "TEST_REPORT": str(report),
        "LD_LIBRARY_PATH": f"{SUITE / 'src'}:{SUITE / 'src-cpp'}",
    }
    with output.open("wb") as to:
        process = await asyncio.create_subprocess_exec(
            *(str(SUITE / "tests" / "test-runner"), "-L", *options),
            stdout=to,
            stderr=asyncio.subprocess.STDOUT,
            cwd=folder,
            env={k: v for k, v in os.environ.items() if k != "CI"} | own | settings,
        )
        try:
            async with asyncio.timeout(_LONGEST_S):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
    said = re.sub(r"\x1b\[[0-9;]*m", "", output.read_text(errors="replace"))
    tests = json.loads(report.read_text())["tests"] if report.exists() else {}
    reasons = dict(re.findall(r"\[(\d{4}\w+) */.*SKIPPING TEST: (.*)", said))
    failures = dict(re.findall(r'Test "(\d{4}\w+).*" failed at .*\n(.*)', said))
    return {
        name: _says(test, failures.get(name) or reasons.get(name))
        for name, test in tests.items()
        if name[:1] == "0" and reasons.get(name) != _NEEDS_NO_BROKER
    }


def _says(test: dict[str, Any], why: str | None) -> str:
    if test["state"] == "PASSED":
        # A test whose parts are all left out in quick mode.
        return "" if test["duration"] > _NOTHING_RAN_S else "nothing was run"
    return f"{test['state']}: {why}"
