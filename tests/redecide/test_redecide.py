"""The log has all the data that decisions need: repeating them gives the same records."""

import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from api.clients.client import MetadataClient
from api.requests.commands import RECORDED
from api.requests.transactions import NAME as TRANSACTION
from controller.authorization.authorizer import Operation, topic_resource
from controller.decisions.brokers.fencing import SetFencing
from controller.decisions.brokers.registrations import RegisterBroker
from controller.decisions.configs.changes import AlterConfigs, ConfigChange, ResourceChange
from controller.decisions.context.context import PlannedConfigs, PlannedTopic, Settings
from controller.decisions.security.tokens import SECRET_KEY, CreateToken, ExpireToken, RenewToken
from controller.decisions.topics.partition_removal import DELETE_PARTITIONS_ENABLED
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from controller.forks.redecisions import redecide
from metadata_log.format.batch import Batch
from metadata_log.reader.log_reader import LogReader
from records.base import Uuid
from records.envelope import Asked
from records.errors import RequestError
from replay.image.configs import TOPIC
from tests.api.guarded import guarded
from tests.api.kafka.servers import CLUSTER_ID, server
from tests.controller.cluster import FEATURES
from tests.redecide.report import Report
from tests.redecide.scenario_logs import write_schedule
from tests.redecide.service_log import ask_for_everything, steps


def report_of(reader: LogReader) -> Report:
    return Report().add(reader.directory.name, redecide(reader, RECORDED))


def assert_equal(log: Path, *commands: str) -> None:
    """Check that all repeated decisions are equal, and that there are some of these commands."""
    with LogReader.open(log) as reader:
        report = report_of(reader)
    assert report.is_perfect, "\n".join(report.lines())
    assert not report.not_kept, "everything that was decided can be decided again"
    assert set(report.equal) >= set(commands)


def test_decisions_of_the_demo_come_out_the_same(demo_log: Path) -> None:
    assert_equal(demo_log, "register", "heartbeat", "topics create", "fence stale broker")


def test_logs_that_make_redecide_makes_come_out_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["redecide", "--changes", "100", "--schedules", "1"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("tests.redecide", run_name="__main__")
    output = capsys.readouterr().out
    assert ended.value.code == 0, output
    assert {"demo", "scenarios", "fault schedules", "service"} <= set(output.splitlines()), output


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = tmp_path_factory.mktemp("faults") / "log"
    write_schedule(4, 60, log)
    return log


def test_decisions_among_faults_come_out_the_same(faults: Path) -> None:
    with LogReader.open(faults) as reader:
        report = report_of(reader)
    assert report.is_perfect, "\n".join(report.lines())
    assert set(report.equal) >= {"report deletions", "alter partition", "advance removals"}


async def test_what_clients_ask_of_a_service_comes_out_the_same(tmp_path: Path) -> None:
    settings = Settings(static_configs={DELETE_PARTITIONS_ENABLED: "true", SECRET_KEY: "secret"})
    async with server(tmp_path, settings=settings) as at:
        for broker_id in (1, 2, 3):
            await at.register(broker_id, broker_id)
        await ask_for_everything(at.client)
        created = (await at.client.run(CreateToken(owner="User:ann"))).response
        for request in (RenewToken(hmac=created.hmac), ExpireToken(hmac=created.hmac)):
            await at.client.run(request, principal="User:ann")
    assert_equal(
        tmp_path / "log",
        *(
            "records append",
            TRANSACTION,
            "configs alter",
            "topics alter",
            "users alter",
            "quotas alter",
        ),
    )


async def test_what_was_refused_to_the_caller_is_refused_again(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, rights):
        rights.but = {(Operation.DELETE, topic_resource("b"))}
        results = (await at.client.run("topics delete", DeleteTopics(topics=("a", "b")))).response
        assert [result.refusal is None for result in results] == [True, False]
    assert_equal(tmp_path / "log", "topics delete")


async def test_what_a_policy_refused_is_refused_again(tmp_path: Path) -> None:
    def policy(topic: PlannedTopic) -> None:
        if topic.name == "b":
            raise RequestError("POLICY_VIOLATION", "no b")

    async with server(tmp_path, settings=Settings(topic_policy=policy)) as at:
        await at.register(1)
        request = CreateTopics(topics=(NewTopic(name="a"), NewTopic(name="b")))
        results = (await at.client.run("topics create", request, request_id="r")).response
        assert [result.refusal is None for result in results] == [True, False]
    assert_equal(tmp_path / "log", "topics create")


async def test_what_a_policy_for_configs_refused_is_refused_again(tmp_path: Path) -> None:
    def policy(planned: PlannedConfigs) -> None:
        if planned.resource_name == "b":
            raise RequestError("POLICY_VIOLATION", "no b")

    async with server(tmp_path, settings=Settings(config_policy=policy)) as at:
        await at.register(1)
        await at.client.run(CreateTopics(topics=(NewTopic(name="a"), NewTopic(name="b"))))
        changes = [
            ResourceChange(
                resource_type=TOPIC, resource_name=n, changes=(ConfigChange("flush.ms", "1"),)
            )
            for n in "ab"
        ]
        results = (await at.client.run(AlterConfigs(resources=tuple(changes)))).response
        assert [result.refusal is None for result in results] == [True, False]
    assert_equal(tmp_path / "log", "configs alter")


async def test_steps_of_a_transaction_see_sessions_change(tmp_path: Path) -> None:
    again = RegisterBroker(
        broker_id=1,
        cluster_id=CLUSTER_ID,
        incarnation_id=Uuid(bytes([2]) * 16),
        features=FEATURES,
        log_dirs=(Uuid(bytes([101]) * 16),),
    )
    async with server(tmp_path) as at:
        await at.register(1)
        await _run(
            at.client,
            ("brokers fence", SetFencing(broker_id=1, fenced=True)),
            ("brokers register", again),
            ("brokers fence", SetFencing(broker_id=1, fenced=False)),
        )
        (broker,) = at.service.image.brokers()
        assert not broker.fenced
    assert_equal(tmp_path / "log", TRANSACTION)


async def _run(client: MetadataClient, *of: tuple[str, Any]) -> None:
    await client.run(TRANSACTION, steps(*of))


class _Changed(LogReader):
    """A log whose stored requests were changed."""

    change: Callable[[Asked], Asked]

    def batches(
        self, from_offset: int | None = None, to_offset: int | None = None
    ) -> Iterator[Batch]:
        for batch in super().batches(from_offset, to_offset):
            first, *others = batch.rows
            if first.asked is not None:
                first = replace(first, asked=self.change(first.asked))
            yield Batch.of([first, *others])


def _other_request(asked: Asked) -> Asked:
    if asked.command != "partitions create":
        return asked
    ((topic, partitions), *more), *rest = msgspec.msgpack.decode(asked.request or b"")
    raw = msgspec.msgpack.encode([[[topic, partitions + 1], *more], *rest])
    return replace(asked, request=raw)


@pytest.mark.parametrize(
    ("change", "commands"),
    [
        (lambda asked: replace(asked, seed=asked.seed and asked.seed + 1), {"topics create"}),
        (lambda asked: replace(asked, observed=None), {"fence stale broker"}),
        (_other_request, {"partitions create"}),
    ],
    ids=["seed", "observed", "request"],
)
def test_difference_is_found_and_named(
    change: Callable[[Asked], Asked], commands: set[str], faults: Path
) -> None:
    with _Changed.open(faults) as reader:
        reader.change = change
        report = report_of(reader)
    assert not report.is_perfect
    assert {c for c in report.decided if report.equal[c] < report.decided[c]} >= commands
    assert any("offset" in line and next(iter(commands)) in line for line in report.shown)
