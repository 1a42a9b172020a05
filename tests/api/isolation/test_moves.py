"""Topics that were moved between two tenants show neither of them the other one's past or future.

The log has topics that go from one tenant to the other, back, and over again, one by one and with
their whole namespace. Each tenant asks everything about them, by name and by id, at every offset;
no answer contains anything that was set, or anybody who did something, while they stood elsewhere.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import run
from api.kafka.frames import RequestFrame
from api.questions.blame import ShowBlame
from api.questions.differences import ShowDiff
from api.questions.history import ShowHistory, Step
from api.questions.objects import ShowImage
from api.questions.report import ShowReport
from api.questions.rows import ShowRows
from api.questions.states import WalkStates
from api.questions.table import QUESTIONS, find_question
from api.requests.commands import COMMANDS, find_command
from api.requests.wire_requests import WireRequest
from api.service.service import Service
from controller.authorization.acls import SUPER_USERS, AclAuthorizer
from controller.authorization.caller import Caller
from controller.decisions.context.context import Settings
from controller.decisions.features.levels_in_use import bootstrap_records
from controller.decisions.levels import NEW_CLUSTER_LEVELS
from controller.decisions.namespaces.namespaces import MoveTopics
from controller.decisions.partitions.replica_states import (
    DELETION_STARTED,
    DELETION_SUCCESSFUL,
    NON_EXISTENT,
)
from controller.descriptions.configs import DescribeConfigs, ExplainConfigs
from controller.descriptions.namespaces import ListNamespaces
from controller.descriptions.partitions import DescribePartitions
from controller.descriptions.progress import ListRemovals
from controller.descriptions.topics import DescribeTopics, ListTopics
from controller.wire import to_wire
from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.envelope import Origin
from records.partitions import (
    CancelDeleteTopicPartitionsRecord,
    DeleteTopicPartitionsRecord,
    ReplicaDeletionRecord,
)
from records.security import AccessControlEntryRecord
from records.text import uuid_text
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.image.configs import TOPIC
from tests.api.isolation.pair import whole_answer
from tests.api.isolation.requests import Asker
from tests.api.isolation.test_changes import QUESTIONS_OF_TENANTS
from tests.api.isolation.test_isolation import _handlers
from tests.api.isolation.worlds import ALPHA, BRAVO, CLUSTER_ID, Tenant
from tests.metadata_log.machine import START_MS, Machine
from tests.replay.builders import broker, change, namespace, partition, topic, uid
from tests.samples import cases, sampled

_ADMIN = Origin(principal="User:admin", command="append")
_MOVED = ("kept", "gone")
"""Topics that are moved; `gone` is deleted in the end."""


def _of(tenant: Tenant) -> Origin:
    return Origin(
        principal=tenant.principal,
        client=f"{tenant.user}-client at {tenant.user}-host:1",
        command="topics alter",
        reason=f"{tenant.user}-reason",
    )


def _work(tenant: Tenant, name: str, replicas: tuple[int, ...]) -> Iterator[tuple[Origin, Record]]:
    """Yield what a tenant does with a topic that it holds."""
    yield (
        _of(tenant),
        ConfigRecord(
            resource_type=TOPIC,
            resource_name=f"{tenant.name}:{name}",
            name="retention.ms",
            value=f"{tenant.user}-value",
        ),
    )
    yield _of(tenant), change(name, 0, replicas=replicas, isr=replicas, leader=replicas[0])
    delay = 4_711_000 if tenant is ALPHA else 8_150_000
    yield (
        _of(tenant),
        DeleteTopicPartitionsRecord(
            topic_id=uid(name), partition_ids=(1,), delay_ms=delay, create_time_ms=START_MS
        ),
    )
    for state in (DELETION_STARTED, DELETION_SUCCESSFUL, NON_EXISTENT):
        deletion = ReplicaDeletionRecord(
            topic_id=uid(name), partition_id=0, broker_id=replicas[0] + 5, state=state
        )
        yield _of(tenant), deletion


def _move(tenant: Tenant, next_holder: Tenant, name: str) -> Iterator[tuple[Origin, Record]]:
    """Yield the move of a topic; its last state goes with it, so that is nobody's secret."""
    yield from _tidied(tenant, name)
    # It is carried out where the topic is moved to; who asked for it stays here.
    yield _of(tenant), change(name, 1, replicas=(2, 3), adding_replicas=(3,))
    yield (
        _ADMIN,
        MoveTopicRecord(topic_id=uid(name), namespace_id=uid(next_holder.name), name=name),
    )
    yield _ADMIN, change(name, 1, adding_replicas=())


def _tidied(tenant: Tenant, name: str) -> Iterator[tuple[Origin, Record]]:
    """Yield what ends the work of a tenant."""
    config = ConfigRecord(
        resource_type=TOPIC,
        resource_name=f"{tenant.name}:{name}",
        name="retention.ms",
        value=None,
    )
    yield _of(tenant), config
    yield (
        _ADMIN,
        CancelDeleteTopicPartitionsRecord(topic_id=uid(name), partition_ids=(1,)),
    )


def _steps() -> Iterator[tuple[Origin, Record]]:
    """Yield the whole story: BRAVO's topics become ALPHA's, BRAVO's again, and ALPHA's."""
    for tenant in (ALPHA, BRAVO):
        yield _ADMIN, namespace(tenant.name)
        yield (
            _ADMIN,
            AccessControlEntryRecord(
                id=uid(f"{tenant.name} acl"),
                resource_type=100,
                resource_name=tenant.name,
                pattern_type=3,
                principal=tenant.principal,
                host="*",
                operation=2,
                permission_type=3,
            ),
        )
    for name in _MOVED:
        yield _of(BRAVO), topic(name, namespace=BRAVO.name)
        for number in range(2):
            yield _of(BRAVO), partition(name, number, replicas=(2,), isr=(2,), leader=2)
        # It goes with the topic; who set it does not.
        config = ConfigRecord(
            resource_type=TOPIC,
            resource_name=f"{BRAVO.name}:{name}",
            name="cleanup.policy",
            value="compact",
        )
        yield _of(BRAVO), config
    for holder, next_holder, replicas in (
        (BRAVO, ALPHA, (2, 3)),
        (ALPHA, BRAVO, (1,)),
        (BRAVO, ALPHA, (3, 2)),
    ):
        for name in _MOVED:
            yield from _work(holder, name, replicas)
        for name in _MOVED:
            yield from _move(holder, next_holder, name)
    yield from _work(ALPHA, "kept", (1,))
    yield _of(ALPHA), RemoveTopicRecord(topic_id=uid("gone"))


@dataclass
class _World:
    service: Service
    first: int
    end: int


class _Start:
    def now_ms(self) -> int:
        return START_MS


@asynccontextmanager
async def _world(
    directory: Path, *, is_indexed: bool = False, more: Iterable[tuple[Origin, Record]] = ()
) -> AsyncIterator[_World]:
    """The topics' whole story, and more; `is_indexed`: with snapshots and the SQL history."""
    create_log(directory, CLUSTER_ID)
    log = await MetadataLog.open(directory, clock=_Start())
    try:
        brokers = [broker(number, fenced=False) for number in (1, 2, 3)]
        shared = (*bootstrap_records(NEW_CLUSTER_LEVELS), *brokers)
        await log.append(NewBatch(records=shared, origin=_ADMIN))
        first = log.end_offset
        for origin, record in (*_steps(), *more):
            await log.append(NewBatch(records=(record,), origin=origin))
        end = log.end_offset
    finally:
        await log.close()
    if is_indexed:
        await asyncio.to_thread(_index, directory, first + (end - first) // 2)
    static = {SUPER_USERS: "User:admin"}
    settings = Settings(static_configs=static, authorizer=AclAuthorizer.of(static))
    service = await Service.open(
        directory, settings=settings, machine=Machine(START_MS), with_timers=False
    )
    try:
        yield _World(service, first, end)
    finally:
        await service.close()


def _index(directory: Path, middle: int) -> None:
    for at in (str(middle), "end"):
        assert run(["snapshot", "create", str(directory), "--at", at]) == 0
    assert run(["sql", "sync", str(directory)]) == 0


def _marks(other: Tenant) -> list[str]:
    """Return what only answers about the other tenant's time or place contain."""
    namespace_id = uid(other.name)
    return [
        *(other.name, f"{other.user}-", other.principal),
        *("8150000" if other is BRAVO else "4711000",),
        *(uuid_text(namespace_id), repr(bytes(namespace_id))[2:-1]),
    ]


def _questions(tenant: Tenant, point: int) -> Iterator[tuple[str, Any]]:
    """Yield every question of a tenant about the topics, under both names and by id."""
    ids: list[str | Uuid] = [uid(name) for name in _MOVED]
    names: list[str | Uuid] = [f"{each.name}:{name}" for each in (ALPHA, BRAVO) for name in _MOVED]
    for ref in (*ids, *names):
        text = ref if isinstance(ref, str) else f"@{uuid_text(ref)}"
        for each in (
            *(f"topic:{text}", f"topic:{text}#name", f"partition:{text}/0", f"partition:{text}/1"),
            *(f"config:topic/{text}", f"config:2/{text}", f"removal:{text}/1"),
            *(f"deletion:{text}/0/7", f"deletion:{text}/0/8"),
        ):
            yield "history", ShowHistory(object=each, fates=True)
            yield "history", ShowHistory(object=each, step=Step.NEXT)
            yield "history", ShowHistory(object=each, step=Step.PREV)
            yield "blame", ShowBlame(object=each)
            yield "dump", ShowRows(object=each)
            yield "diff", ShowDiff(before="start", object=each)
            yield "diff", ShowDiff(before="end", object=each, fates=True)
        yield "configs describe", DescribeConfigs(resource_type=TOPIC, resource_name=ref)
        yield "configs explain", ExplainConfigs(resource_type=TOPIC, resource_name=ref)
        yield "partitions describe", DescribePartitions(topic=ref)
        yield "partitions removals", ListRemovals(topic=ref)
        yield "partitions states", WalkStates(topic=ref, replicas=True)
        yield "topics describe", DescribeTopics(topics=(ref,))
        if isinstance(ref, str) and ref.startswith(f"{tenant.name}:"):
            yield "report", ShowReport(topics=(ref,))
    for listing in (ListTopics(), DescribeTopics(), DescribePartitions(), ListRemovals()):
        yield (
            {
                ListTopics: "topics list",
                DescribeTopics: "topics describe",
                DescribePartitions: "partitions describe",
                ListRemovals: "partitions removals",
            }[type(listing)],
            listing,
        )
    yield "namespaces list", ListNamespaces()
    yield "image", ShowImage()
    yield "partitions states", WalkStates(replicas=True)
    for other_point in ("start", str(max(0, point - 5)), "end"):
        yield "diff", ShowDiff(before=other_point, fates=True, passed=True)


def _asked(tenant: Tenant, points: Sequence[int]) -> Iterator[tuple[int, str, Any]]:
    """Yield points with questions: all at the last, and each at one of the earlier ones in turn."""
    *earlier, last = points
    parts = cases(1, len(earlier))
    for n, point in enumerate(earlier):
        for name, request in list(_questions(tenant, point))[n % parts :: parts]:
            yield point, name, request
    for name, request in _questions(tenant, last):
        yield last, name, request


@sampled
@pytest.mark.parametrize(
    ("asking", "other", "is_indexed"),
    [
        pytest.param(ALPHA, BRAVO, False, id="alpha-log"),
        pytest.param(BRAVO, ALPHA, True, id="bravo-indexed log"),
        pytest.param(ALPHA, BRAVO, True, id="alpha-indexed log", marks=pytest.mark.heavy),
        pytest.param(BRAVO, ALPHA, False, id="bravo-log", marks=pytest.mark.heavy),
    ],
)
async def test_a_moved_topic_shows_nothing_of_its_time_with_another_tenant(
    tmp_path: Path, asking: Tenant, other: Tenant, is_indexed: bool
) -> None:
    marks = _marks(other)
    async with _world(tmp_path / "log", is_indexed=is_indexed) as world:
        every = list(range(world.first, world.end))
        points = random.Random(4).sample(every[:-1], cases(len(every) - 1, 3))
        for point, name, request in _asked(asking, [*points, every[-1]]):
            asked = WireRequest(command=name, request=to_wire(request), point=str(point))
            told = await whole_answer(world.service, asking.caller, asked)
            found = [mark for mark in marks if mark in _without_request(repr(told), request)]
            assert found == [], (point, name, request, told)


@sampled
@pytest.mark.parametrize(("asking", "other"), [(ALPHA, BRAVO), (BRAVO, ALPHA)])
async def test_a_namespace_that_was_moved_as_a_whole_shows_neither_tenant_the_other(
    tmp_path: Path, asking: Tenant, other: Tenant
) -> None:
    """The topics go by one request, which names both namespaces and is kept in the log."""
    second = [
        (_of(ALPHA), topic("second", namespace=ALPHA.name)),
        (_of(ALPHA), partition("second", 0, replicas=(2,), isr=(2,), leader=2)),
    ]
    marks, admin = _marks(other), Caller(principal="User:admin", client_id="admin-client")
    async with _world(tmp_path / "log", more=(*_tidied(ALPHA, "kept"), *second)) as world:
        move = MoveTopics(from_namespace=ALPHA.name, to_namespace=BRAVO.name)
        before = world.service.image.provenance.next_offset
        await world.service.run("namespaces move", move, caller=admin)
        image = world.service.image
        names = {image.full_name(each) for each in image.topics()}
        assert names == {"bravo:kept", "bravo:second"}
        for point, name, request in _asked(asking, range(before - 1, image.provenance.next_offset)):
            asked = WireRequest(command=name, request=to_wire(request), point=str(point))
            told = await whole_answer(world.service, asking.caller, asked)
            found = [mark for mark in marks if mark in _without_request(repr(told), request)]
            assert found == [], (point, name, request, told)


def test_every_question_of_tenants_about_topics_is_asked_about_moved_ones() -> None:
    of_no_topic = {"subscriptions list", "tokens describe"}
    asked = {name for name, _ in _questions(ALPHA, 0)}
    assert asked - {"report"} == QUESTIONS_OF_TENANTS - of_no_topic


def _without_request(told: str, request: Any) -> str:
    """Return an answer without the names that the request itself contains."""
    for name in _MOVED:
        for tenant in (ALPHA, BRAVO):
            full_name = f"{tenant.name}:{name}"
            if full_name in repr(request):
                told = told.replace(full_name, "-")
    return told


class _MovedAsker(Asker):
    """Asks about the topics that were moved."""

    def __init__(self, asking: Tenant, other: Tenant, rng: random.Random) -> None:
        super().__init__(asking, other, rng)
        self._ids = [uid(name) for name in _MOVED]
        names = [f"{tenant.name}:{name}" for tenant in (asking, other) for name in _MOVED]
        for text in (*names, *(f"@{uuid_text(each)}" for each in self._ids)):
            objects = (f"topic:{text}", f"partition:{text}/0", f"config:topic/{text}")
            self._texts += [text, *objects]


@pytest.mark.parametrize(("asking", "other"), [(ALPHA, BRAVO), (BRAVO, ALPHA)])
async def test_nothing_in_the_tables_tells_of_a_moved_topics_time_elsewhere(
    tmp_path: Path, asking: Tenant, other: Tenant
) -> None:
    rng = random.Random(6)
    asker = _MovedAsker(asking, other, rng)
    # The name of the other tenant may stand in a request, and be repeated.
    marks = [mark for mark in _marks(other) if mark not in (other.name, other.principal)]
    async with _world(tmp_path / "log") as world:
        told = []
        for name in QUESTIONS:
            for _ in range(8 if name in QUESTIONS_OF_TENANTS else 2):
                payload = to_wire(asker.request(find_question(name).request))
                point = str(rng.randrange(world.first, world.end))
                told.append(WireRequest(command=name, request=payload, point=point))
        for name in COMMANDS:
            for _ in range(2):
                payload = to_wire(asker.request(find_command(name).request))
                told.append(WireRequest(command=name, request=payload))
        for request in told:
            answer = repr(await whole_answer(world.service, asking.caller, request))
            assert [mark for mark in marks if mark in answer] == [], (request, answer)
        for api, handle in _handlers(world.service).items():
            for number in range(3):
                version = rng.randint(api.min_version, api.max_version)
                body = asker.request(api.request)
                frame = RequestFrame(
                    api=api, version=version, correlation_id=number, client_id="x", body=body
                )
                answer = repr(await handle(frame, asking.caller))
                assert [mark for mark in marks if mark in answer] == [], (frame, answer)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[_World]:
    """The topics' whole story."""
    async with _world(tmp_path / "log") as made:
        yield made


async def _told(world: _World, tenant: Tenant | str, name: str, request: Any, point: int) -> Any:
    caller = tenant.caller if isinstance(tenant, Tenant) else Caller(principal=tenant)
    asked = WireRequest(command=name, request=to_wire(request), point=str(point))
    return await whole_answer(world.service, caller, asked)


def _points(world: _World) -> dict[str, list[int]]:
    """Return the offsets of the moves of the topic `kept`, by the tenant that gets it."""
    found: dict[str, list[int]] = {}
    for offset, (_, record) in enumerate(_steps(), world.first):
        if isinstance(record, MoveTopicRecord) and record.topic_id == uid("kept"):
            holder = next(each for each in (ALPHA, BRAVO) if uid(each.name) == record.namespace_id)
            found.setdefault(holder.name, []).append(offset)
    return found


async def test_the_past_of_a_moved_topic_is_that_of_its_name(world: _World) -> None:
    moves = _points(world)
    by_id = f"topic:@{uuid_text(uid('kept'))}"
    for text in (by_id, "topic:alpha:kept"):
        ((events, *_),) = await _told(
            world, ALPHA, "history", ShowHistory(object=text), world.end - 1
        )
        offsets = [event["offset"] for event in events]
        (there,) = moves["bravo"]
        assert offsets[0] == moves["alpha"][0]
        # It left, and that it left is part of the past of its name; where it went to is not.
        assert there in offsets and moves["alpha"][1] in offsets
        assert not [each for each in offsets if there < each < moves["alpha"][1]]
        ((rows, *_),) = await _told(world, ALPHA, "dump", ShowRows(object=text), world.end - 1)
        assert there not in [row["offset"] for row in rows]


async def test_what_was_set_elsewhere_is_set_by_the_move_in_blame(world: _World) -> None:
    last_move = _points(world)["alpha"][1]
    by_id = f"partition:@{uuid_text(uid('kept'))}/1"
    ((blame, *_),) = await _told(world, ALPHA, "blame", ShowBlame(object=by_id), last_move)
    assert {field["offset"] for field in blame["fields"].values()} == {last_move}


async def test_who_asked_is_told_to_those_who_may_see_where(world: _World) -> None:
    by_id = f"partition:@{uuid_text(uid('kept'))}/1"
    for caller, is_told in ((ALPHA, False), ("User:admin", True)):
        ((events, *_),) = await _told(
            world, caller, "history", ShowHistory(object=by_id), world.end - 1
        )
        done = [event for event in events if event["origin"]["principal"] == "User:admin"]
        finished = [
            event
            for event in done
            if [c["field"] for c in event["changes"]][:1] == ["adding_replicas"]
        ]
        assert finished
        assert {"asked" in event for event in finished} == {is_told}


async def test_a_tenant_sees_the_deletions_of_replicas_of_its_own_time(world: _World) -> None:
    begun = [
        (offset, record)
        for offset, (_, record) in enumerate(_steps(), world.first)
        if isinstance(record, ReplicaDeletionRecord)
        and (record.topic_id, record.state) == (uid("kept"), DELETION_STARTED)
    ]
    for (offset, record), holder in zip(begun, (BRAVO, ALPHA, BRAVO, ALPHA), strict=True):
        for tenant in (ALPHA, BRAVO):
            wanted = {f"deletion:{tenant.name}:kept/0/{record.broker_id}"}
            parts = ShowImage(parts=("deletions",))
            ((pieces, *_),) = await _told(world, tenant, "image", parts, offset)
            shown = {each["object"] for piece in pieces for each in piece["value"]}
            assert shown == (wanted if tenant is holder else set())
            ((changes, *_),) = await _told(
                world, tenant, "diff", ShowDiff(before=str(offset - 1)), offset
            )
            assert {each["object"] for each in changes} == shown


async def test_a_former_tenant_may_still_read_its_own_past(world: _World) -> None:
    (there,) = _points(world)["bravo"]
    ((described, *_),) = await _told(
        world, BRAVO, "topics describe", DescribeTopics(topics=(uid("kept"),)), there
    )
    assert described["topics"][0]["description"]["name"] == "bravo:kept"
    gone = await _told(
        world, BRAVO, "topics describe", DescribeTopics(topics=(uid("kept"),)), world.end - 1
    )
    assert "UNKNOWN_TOPIC_ID" in repr(gone)


async def test_who_may_describe_the_cluster_reads_the_whole_history(world: _World) -> None:
    by_id = f"topic:@{uuid_text(uid('kept'))}"
    ((events, *_),) = await _told(
        world, "User:admin", "history", ShowHistory(object=by_id), world.end - 1
    )
    names = [
        change["after"]
        for event in events
        for change in event["changes"]
        if change["field"] == "name"
    ]
    assert names == ["bravo:kept", "alpha:kept", "bravo:kept", "alpha:kept"]
