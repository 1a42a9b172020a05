"""A cluster for tests of decisions: each decision's records are applied at once, without a log."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from controller.authorization.caller import CONTROLLER
from controller.decider import Decision
from controller.decisions.brokers.heartbeats import (
    Heartbeat,
    HeartbeatReply,
    heartbeat,
    sessions_after,
)
from controller.decisions.brokers.registrations import RegisterBroker, register_broker
from controller.decisions.context.context import Context, Settings
from controller.decisions.context.mutation_quotas import MutationBuckets
from controller.decisions.context.sessions import Sessions
from controller.decisions.features.levels_in_use import bootstrap_records
from controller.decisions.levels import NEW_CLUSTER_LEVELS, SUPPORTED_LEVELS, record_version
from controller.decisions.lookup import find_topic
from controller.decisions.names import full_name
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.security.scram import ScramMechanism, keys_of, salted_password
from controller.decisions.security.users import ScramUpsertion
from controller.decisions.topics.topics import CreateTopics, NewTopic, create_topics
from controller.pipeline.latest import Latest, State
from metadata_log.format.batch import Batch
from records.base import Record, Uuid
from records.brokers import BrokerFeature
from records.envelope import Envelope, Origin
from records.errors import RequestError
from replay.image.cluster import Broker
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.topics import Topic
from tests.controller.in_namespace import image_with, inside, outside

T = TypeVar("T")

START_MS = 1_700_000_000_000

FEATURES = tuple(
    [
        BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
        for name, (low, high) in SUPPORTED_LEVELS.items()
    ]
)


class CountingRng:
    """Replaces randomness: every choice is the first option, every id the next number."""

    def __init__(self) -> None:
        self._count = 0

    def randrange(self, stop: int, /) -> int:
        return 0

    def shuffle(self, items: Any, /) -> None:
        pass

    def randbytes(self, size: int, /) -> bytes:
        self._count += 1
        return self._count.to_bytes(size, "big")


class Cluster:
    """An image that decisions change.

    `records` has the records of the last decision; `steps` has all batches, each with the image
    after it. `asker` and `caller` are used for the following decisions. `problems` is for tests
    that check each step.
    """

    step_max: int | None = None
    """Maximum number of records of one step of a decision."""

    namespace = ""
    """Topics that requests name are in here: the switch to run tests inside a namespace."""

    def __init__(
        self,
        levels: Mapping[str, int] = NEW_CLUSTER_LEVELS,
        settings: Settings | None = None,
        namespace: str | None = None,
    ) -> None:
        if namespace is not None:
            self.namespace = namespace
        self.settings = settings or Settings(cluster_id="test")
        self.now_ms = START_MS
        self.rng = CountingRng()
        self.asker: Origin | None = None
        self.caller = CONTROLLER
        self.buckets = MutationBuckets()
        self.records: tuple[Record, ...] = ()
        self.base_offset = 0
        self.steps: list[tuple[Batch, MetadataImage]] = []
        self.problems: list[str] = []
        start = image_with(self.namespace) if self.namespace else MetadataImage.EMPTY
        self._latest = Latest(State.of(start), 0)
        self.sessions = Sessions(timeout_ms=self.settings.session_timeout_ms)
        self.write(bootstrap_records(levels))

    @property
    def image(self) -> MetadataImage:
        return self._latest.state.image

    @property
    def next_offset(self) -> int:
        return self._latest.next_offset

    def context(self) -> Context:
        return Context(
            image=self.image,
            lazy_index=self._latest.state.lazy_index,
            sessions=self.sessions,
            settings=self.settings,
            rng=self.rng,
            now_ms=self.now_ms,
            next_offset=self.next_offset,
            origin=self.asker,
            caller=self.caller,
            buckets=self.buckets,
            step_max=self.step_max,
        )

    def write(self, records: Sequence[Record]) -> None:
        """Apply records as one batch."""
        self.records = tuple(records)
        self.base_offset = self.next_offset
        if not records:
            return
        level = self.context().metadata_version
        rows = [
            Envelope(
                offset=offset,
                leader_epoch=1,
                timestamp=self.now_ms,
                batch_offset=self.base_offset,
                record_version=record_version(record, level),
                payload=record,
            )
            for offset, record in enumerate(records, self.base_offset)
        ]
        batch = Batch.of(rows)
        self.steps.append((batch, self._latest.apply(batch).image))
        self.sessions = self.sessions.replayed(
            self.records, base_offset=self.base_offset, now_ms=self.now_ms
        )

    def decide(self, decision: Decision[T], *, steps_max: int | None = None) -> T:
        """Take a decision, write its records, and return its response.

        Args:
            steps_max: Make no more steps of the decision, as if the controller ended after them.
        """
        context = self.context()
        for number in itertools.count(1):
            result = decision(context)
            self.write(result.records)
            if result.records:
                self.buckets = self.buckets.charged_all(result.charges)
            if not result.is_partial or number == steps_max:
                break
            context = replace(self.context(), begun=result.response)
        return result.response

    def fail_over(self) -> None:
        """Replace the controller by one that knows only the log, without any state in memory."""
        self.sessions = Sessions.of(
            self.image, timeout_ms=self.settings.session_timeout_ms, now_ms=self.now_ms
        )

    def do(self, decision: Callable[..., Any], request: object) -> Any:
        """Make the decision about a request, and write its records."""
        if not self.namespace:
            return self.decide(lambda context: decision(context, request))
        there = inside(request, self.namespace)
        try:
            response = self.decide(lambda context: decision(context, there))
        except RequestError as error:
            raise error.with_outcome(error.outcome, outside(str(error), self.namespace)) from error
        return outside(response, self.namespace)

    def refused(self, decision: Callable[..., Any], request: object) -> RequestError:
        """Return the error with which a whole request is refused; check that nothing is written."""
        before = self.next_offset
        with pytest.raises(RequestError) as caught:
            self.do(decision, request)
        assert self.next_offset == before
        return caught.value

    def register(self, broker_id: int, **fields: Any) -> int:
        """Register a new process of a broker, which starts fenced; return its epoch."""
        fields.setdefault("incarnation_id", Uuid(self.rng.randbytes(16)))
        fields.setdefault("log_dirs", (directory(broker_id),))
        fields.setdefault("features", FEATURES)
        fields.setdefault("cluster_id", self.settings.cluster_id)
        request = RegisterBroker(broker_id=broker_id, **fields)
        epoch: int = self.do(register_broker, request).broker_epoch
        return epoch

    def heartbeat(
        self, broker_id: int, *, steps_max: int | None = None, **fields: Any
    ) -> HeartbeatReply:
        """Send a heartbeat of a broker that has applied the whole log.

        Args:
            steps_max: As for `decide`.
        """
        fields.setdefault("metadata_offset", self.next_offset - 1)
        fields.setdefault("broker_epoch", self.broker(broker_id).broker_epoch)
        request = Heartbeat(broker_id=broker_id, **fields)
        reply = self.decide(partial(heartbeat, request=request), steps_max=steps_max)
        self.sessions = sessions_after(
            self.sessions, request, reply, next_offset=self.next_offset, now_ms=self.now_ms
        )
        return reply

    def add_brokers(self, *broker_ids: int, **fields: Any) -> None:
        """Register brokers and unfence them."""
        for broker_id in broker_ids:
            self.register(broker_id, **fields)
            self.heartbeat(broker_id)

    def fence(self, broker_id: int) -> None:
        """Send a heartbeat with which a broker asks to be fenced."""
        self.heartbeat(broker_id, want_fence=True)

    def create(self, name: str, *replicas: Sequence[int], **fields: Any) -> Topic:
        """Create a topic with these replicas, one list per partition."""
        fields.setdefault("assignments", assigned(*replicas))
        request = CreateTopics(topics=(NewTopic(name=name, **fields),))
        (result,) = self.do(create_topics, request)
        assert result.refusal is None, result.refusal
        return self.topic(result.name)

    def full_name(self, name: str) -> str:
        """Return the name of a topic or namespace with the namespace that it has in this
        cluster.
        """
        return full_name(self.namespace, name)

    def topic(self, name: str) -> Topic:
        return find_topic(self.image, full_name(self.namespace, name))

    def partition(self, name: str, partition_id: int = 0) -> Partition:
        found = self.image.partition(self.topic(name).topic_id, partition_id)
        assert found is not None
        return found

    def broker(self, broker_id: int) -> Broker:
        found = self.image.broker(broker_id)
        assert found is not None
        return found


def assigned(*replicas: Sequence[int]) -> tuple[Assignment, ...]:
    """Return a manual assignment of partitions 0, 1, ..."""
    return tuple([Assignment(n, tuple(ids)) for n, ids in enumerate(replicas)])


def directory(broker_id: int) -> Uuid:
    """Return the id of a broker's only log directory."""
    return Uuid((1_000 + broker_id).to_bytes(16, "big"))


def credential(user: str, password: str = "pencil", **fields: Any) -> ScramUpsertion:
    """Return a credential of SCRAM-SHA-256 to set, as a client derives it from a password."""
    mechanism = ScramMechanism(fields.get("mechanism", 1))
    salt, iterations = f"salt of {user}".encode(), fields.get("iterations", 4096)
    salted = salted_password(mechanism.hash_name, password, salt, max(iterations, 1))
    keys = keys_of(mechanism.hash_name, salted)
    derived = {
        "mechanism": 1,
        "iterations": iterations,
        "salt": salt,
        "stored_key": keys.stored_key,
        "server_key": keys.server_key,
    }
    return ScramUpsertion(user=user, **{**derived, **fields})
