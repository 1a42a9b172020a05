"""Creation and deletion of topics.

For each topic, a creation writes TopicRecord, ConfigRecords, PartitionRecords. A deletion is one
record and immediately frees the name; brokers delete their replicas when they apply it.

Source: KIP-4 (batches, results for each topic), KIP-516 (topic ids);
docs/kafka_rules.md, section 2.
"""

import msgspec

from controller.decisions.config_definitions.brokers import (
    DEFAULT_REPLICATION_FACTOR,
    NUM_PARTITIONS,
)
from controller.decisions.configs.changes import (
    ConfigChange,
    ResourceChange,
    check_policy,
    config_records,
)
from controller.decisions.configs.created import CreatedConfig, CreatedConfigs
from controller.decisions.context.context import Context, PlannedTopic
from controller.decisions.ids import can_be_id, new_id
from controller.decisions.items import decide_each, decide_each_in_turns
from controller.decisions.lookup import (
    TopicRef,
    find_namespace,
    find_topic,
    namespace_of,
    ref_text,
    topics_named_twice,
)
from controller.decisions.names import check_topic_name, full_name, named_more_than_once
from controller.decisions.outcome import Refusal
from controller.decisions.partitions.assignments import Assignment, Placement, checked
from controller.decisions.quotas.counted_records import CountedRecordList
from controller.decisions.request import Request
from controller.decisions.topics.subscriptions import Subscription, SubscriptionMatcher
from controller.results.refusals import (
    invalid_assignment,
    invalid_config,
    invalid_partitions,
    invalid_replication_factor,
    invalid_topic_name,
    named_twice,
    topic_already_exists,
)
from controller.results.result import ControllerResult
from controller.results.turns import Turns, whole
from records.base import Uuid
from records.configs import ConfigRecord
from records.errors import RequestError
from records.text import uuid_text
from records.topics import RemoveTopicRecord, TopicRecord
from replay.image.configs import TOPIC

SERVER_DEFAULT = -1
"""Use the server's default count."""


class NewTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic to create: by counts, or with manual assignments of all partitions.

    `topic_id` is the id of a topic taken over from another cluster; None: a random one.
    """

    name: str
    namespace: str = ""
    partitions: int = SERVER_DEFAULT
    replication_factor: int = SERVER_DEFAULT
    assignments: tuple[Assignment, ...] = ()
    configs: tuple[tuple[str, str | None], ...] = ()
    topic_id: Uuid | None = None

    @property
    def full_name(self) -> str:
        """The name, prefixed by the namespace."""
        return full_name(self.namespace, self.name)


class CreateTopics(Request["tuple[TopicResult, ...]"], frozen=True, kw_only=True):
    """A request to create topics; `placement` is a name, None means the controller's.

    `with_configs`: the results include the effective configs of each topic.
    """

    topics: tuple[NewTopic, ...]
    placement: str | None = None
    validate_only: bool = False
    with_configs: bool = False


class DeleteTopics(Request["tuple[TopicResult, ...]"], frozen=True, kw_only=True):
    """A request to delete topics."""

    topics: tuple[TopicRef, ...]
    validate_only: bool = False


class TopicResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one topic.

    `name` is as in the request. A creation that is only validated has no id. `subscriptions` are
    the subscriptions that match a created topic; None: there were too many to examine. `configs`
    are the effective configs, if requested; None: the caller may not describe them.
    """

    name: str
    topic_id: Uuid | None = None
    partitions: int = 0
    replication_factor: int = 0
    refusal: Refusal | None = None
    subscriptions: tuple[Subscription, ...] | None = ()
    configs: tuple[CreatedConfig, ...] | None = ()


def create_topics(
    context: Context, request: CreateTopics
) -> ControllerResult[tuple[TopicResult, ...]]:
    """Create topics; a refused topic does not stop the others.

    Raises:
        RequestError: INVALID_REQUEST, there is no placement of that name; or POLICY_VIOLATION, the
            request makes too many records.
    """
    return whole(create_topics_in_turns(context, request))


def create_topics_in_turns(
    context: Context, request: CreateTopics
) -> Turns[ControllerResult[tuple[TopicResult, ...]]]:
    """Create topics like `create_topics`, in several turns of the event loop."""
    creation = _Creation(context, request)
    twice = named_more_than_once([topic.full_name for topic in request.topics])

    def create(topic: NewTopic) -> TopicResult:
        if topic.full_name in twice:
            raise named_twice(repr(topic.full_name))
        return creation.create(topic, creation.plan(topic))

    def refused(topic: NewTopic, refusal: Refusal) -> TopicResult:
        return TopicResult(name=topic.full_name, refusal=refusal)

    results = yield from decide_each_in_turns(request.topics, create, refused)
    return creation.records.result(results, validate_only=request.validate_only)


def delete_topics(
    context: Context, request: DeleteTopics
) -> ControllerResult[tuple[TopicResult, ...]]:
    """Delete topics; a refused topic does not stop the others.

    Raises:
        TooLargeError: POLICY_VIOLATION, the request makes too many records.
    """
    twice = topics_named_twice(context.image, request.topics)
    records = CountedRecordList(context)

    def delete(ref: TopicRef) -> TopicResult:
        topic = find_topic(context.image, ref)
        if topic.topic_id in twice:
            raise named_twice(repr(ref_text(ref)))
        count = len(context.image.partitions(topic.topic_id))
        records.mutate({namespace_of(context.image, topic): count})
        records.add(RemoveTopicRecord(topic_id=topic.topic_id))
        return TopicResult(name=ref_text(ref), topic_id=topic.topic_id, partitions=count)

    def refused(ref: TopicRef, refusal: Refusal) -> TopicResult:
        return TopicResult(name=ref_text(ref), refusal=refusal)

    results = decide_each(request.topics, delete, refused)
    return records.result(results, validate_only=request.validate_only)


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    namespace_id: Uuid | None
    configs: list[ConfigRecord]
    assignments: list[Assignment]


class _Creation:
    """The records of one request, and the names used by its topics so far."""

    def __init__(self, context: Context, request: CreateTopics) -> None:
        self._context = context
        self._validate_only = request.validate_only
        self._configs = CreatedConfigs(context) if request.with_configs else None
        self._placement = Placement(context, request.placement)
        self._subscriptions = SubscriptionMatcher(context)
        self._unified_names: dict[tuple[Uuid | None, str], str] = {}
        self._ids: set[Uuid] = set()
        self.records = CountedRecordList(context)

    def plan(self, topic: NewTopic) -> _Plan:
        """Check a topic and choose its replicas, without adding records."""
        image = self._context.image
        namespace_id = find_namespace(image, topic.namespace)
        if image.topic_by_name(topic.name, namespace_id) is not None:
            raise topic_already_exists(topic.full_name)
        check_topic_name(topic.name)
        self._check_collision(namespace_id, topic.name)
        self._check_id(topic)
        changes = _config_changes(topic)
        configs = config_records(self._context, changes)
        check_policy(self._context, changes, configs)
        assignments = self._assignments(topic)
        self._check_policy(topic, assignments)
        self.records.grow(topic.namespace, topics=1, partitions=len(assignments))
        return _Plan(namespace_id=namespace_id, configs=configs, assignments=assignments)

    def create(self, topic: NewTopic, plan: _Plan) -> TopicResult:
        """Add the records of a checked topic, and return its result."""
        topic_id = topic.topic_id or new_id(self._context.rng)
        self._ids.add(topic_id)
        self._unified_names[plan.namespace_id, topic.name.replace(".", "_")] = topic.name
        self.records.add(
            TopicRecord(name=topic.name, topic_id=topic_id, namespace_id=plan.namespace_id),
            *plan.configs,
            *(self._placement.record(topic_id, a) for a in plan.assignments),
        )
        return TopicResult(
            name=topic.full_name,
            topic_id=None if self._validate_only else topic_id,
            partitions=len(plan.assignments),
            replication_factor=len(plan.assignments[0].broker_ids),
            subscriptions=self._subscriptions.of_topic(topic.full_name),
            configs=self._effective(topic, plan),
        )

    def _effective(self, topic: NewTopic, plan: _Plan) -> tuple[CreatedConfig, ...]:
        if self._configs is None:
            return ()
        own = {record.name: record.value or "" for record in plan.configs}
        return self._configs.of_topic(topic.namespace, own)

    def _check_id(self, topic: NewTopic) -> None:
        if topic.topic_id is None:
            return
        if not can_be_id(topic.topic_id):
            raise RequestError(
                "INVALID_REQUEST",
                f"the topic id {uuid_text(topic.topic_id)} is reserved; choose another",
            )
        if topic.topic_id in self._ids or self._context.image.topic(topic.topic_id) is not None:
            raise RequestError(
                "TOPIC_ALREADY_EXISTS",
                f"TopicAlreadyExists: another topic has the id {uuid_text(topic.topic_id)}",
            )

    def _check_collision(self, namespace_id: Uuid | None, name: str) -> None:
        """Refuse a name that differs from another only by '.' and '_': their metrics would collide.

        Unlike in Kafka, names in the same request are also compared with each other.
        """
        other = self._context.index.colliding_name(namespace_id, name)
        other = other or self._unified_names.get((namespace_id, name.replace(".", "_")))
        if other is not None:
            raise invalid_topic_name(
                f"{name!r} collides with the topic {other!r}: '.' and '_' are the same in metrics"
            )

    def _check_policy(self, topic: NewTopic, assignments: list[Assignment]) -> None:
        policy = self._context.settings.topic_policy
        if policy is not None:
            policy(
                PlannedTopic(
                    name=topic.full_name,
                    partitions=len(assignments),
                    replication_factor=len(assignments[0].broker_ids),
                    configs={name: value for name, value in topic.configs if value is not None},
                )
            )

    def _assignments(self, topic: NewTopic) -> list[Assignment]:
        if topic.assignments:
            return self._manual(topic)
        partitions, replication_factor = topic.partitions, topic.replication_factor
        if replication_factor != SERVER_DEFAULT and replication_factor <= 0:
            raise invalid_replication_factor(
                f"{replication_factor} replicas: the number must be above 0, or -1 for the default"
            )
        if partitions != SERVER_DEFAULT and partitions <= 0:
            raise invalid_partitions(
                f"{partitions} partitions: the number must be above 0, or -1 for the default"
            )
        settings = self._context.settings
        if partitions == SERVER_DEFAULT:
            partitions = settings.static_number(NUM_PARTITIONS)
        if replication_factor == SERVER_DEFAULT:
            replication_factor = settings.static_number(DEFAULT_REPLICATION_FACTOR)
        self.records.reserve(partitions)
        return self._placement.place(partitions=partitions, replication_factor=replication_factor)

    def _manual(self, topic: NewTopic) -> list[Assignment]:
        if topic.replication_factor != SERVER_DEFAULT or topic.partitions != SERVER_DEFAULT:
            raise RequestError(
                "INVALID_REQUEST",
                "the request gives replicas, so partitions and replication factor must be left "
                "out (-1)",
            )
        partition_ids = [assignment.partition_id for assignment in topic.assignments]
        if sorted(partition_ids) != list(range(len(partition_ids))):
            raise invalid_assignment(
                f"partition ids {partition_ids} must be 0 to {len(partition_ids) - 1}, each once"
            )
        in_order = sorted(topic.assignments, key=lambda assignment: assignment.partition_id)
        assignments = checked(self._context, in_order)
        self._placement.count(assignments)
        return assignments


def _config_changes(topic: NewTopic) -> ResourceChange:
    missing = [name for name, value in topic.configs if value is None]
    if missing:
        raise invalid_config(TOPIC, f"a new topic's configs need values: {', '.join(missing)}")
    return ResourceChange(
        resource_type=TOPIC,
        resource_name=topic.full_name,
        changes=tuple([ConfigChange(name, value) for name, value in topic.configs]),
    )
