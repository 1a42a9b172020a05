"""The table of questions that can be asked by name over a connection: one row for each.

A row names the functions and types of its question, which are imported on first use: importing all
takes longer than most answers. `api.requests.commands` is the table of the commands that change a
cluster.
"""

import functools
import importlib
from typing import TYPE_CHECKING, Any, cast, get_type_hints

import msgspec

from api.questions.question import Question
from records.errors import RequestError

if TYPE_CHECKING:
    from controller.rights.guard import Guard

AS_IT_IS = "as it is"
"""Used instead of a document if the answer itself is its JSON form."""


EXAMPLES: dict[str, Any] = {
    "object": "topic:orders",
    "name": "orders",
    "expression": "size(topics) > 3",
    "broker_id": 1,
    "resource_type": "TOPIC",
    "resource_name": "orders",
    "principal": "User:ann",
    "operation": "READ",
    "filter": "{}",
    "from": "start",
    "to": "end",
}
"""Values of required parameters for the OpenAPI document, by name."""


class Row(msgspec.Struct, frozen=True):
    """The parts of a question, given by their places, `MODULE:NAME`.

    Attributes:
        question: The `Question`, in `api.questions` or, if it is about commands, in `api.requests`.
            For a step: the function that answers it.
        guard: The permission check: a place in `controller.rights`, or a name in `rights`.
        answer: What the answer is, in one sentence: for assistants and the OpenAPI document.
        document: The `Document` of the answer, in `api.documents`, or the struct of a list; None if
            the answer is an HTML page.
        is_step: True for a question about a cluster at one point, which can also be run as a
            command: alone, or as a step of a transaction.
        tell: For a step: its `Question.tell`, in `api.questions`.
        struct: As `Command.struct`.
        example: Values of parameters, where they differ from EXAMPLES.
    """

    question: str
    guard: str
    answer: str
    document: str | None = AS_IT_IS
    is_step: bool = False
    tell: str | None = None
    struct: str | None = None
    example: dict[str, Any] = {}


def _step(describe: str, guard: str, answer: str, document: str, **more: Any) -> Row:
    """Return the row of a question about a cluster at one point."""
    place = f"controller.descriptions.{describe}"
    return Row(place, guard, answer, document, is_step=True, **more)


QUESTIONS: dict[str, Row] = {
    "topics list": _step(
        "topics:topics_listed",
        "LIST_TOPICS",
        "The topics by name, each with its id, number of partitions and replication factor.",
        "topics:TopicList",
    ),
    "topics describe": _step(
        "topics:topics_described",
        "DESCRIBE_TOPICS",
        "Topics, all or the named ones, with their partitions' leaders, replicas and ISRs.",
        "topics:TOPICS",
    ),
    "partitions describe": _step(
        "partitions:partitions_described",
        "DESCRIBE_PARTITIONS",
        "Partitions of all topics or of one: mode, leader, epochs, replicas, ISR and lags.",
        "topics:PARTITIONS",
    ),
    "partitions removals": _step(
        "progress:removals_listed",
        "DESCRIBE_PARTITIONS",
        "The partitions that are being removed: mode, when due, and the state of each replica.",
        "topics:RemovalList",
    ),
    "reassignments list": _step(
        "progress:reassignments_listed",
        "DESCRIBE_CLUSTER",
        "The partitions that are being reassigned, since when, and the brokers they wait for.",
        "topics:ReassignmentList",
        tell="reassignments:reassignments_running",
    ),
    "brokers list": _step(
        "brokers:brokers_listed",
        "DESCRIBE_CLUSTER",
        "The registered brokers: state, rack, number of led and held partitions, listeners.",
        "brokers:BrokerList",
    ),
    "brokers describe": _step(
        "brokers:broker_described",
        "DESCRIBE_CLUSTER",
        "One broker: state, epoch, rack, listeners, log directories and what it leads and holds.",
        "brokers:BROKER",
        struct="DescribeBroker",
    ),
    "configs describe": _step(
        "configs:configs_described",
        "DESCRIBE_CONFIGS",
        "The configs of a topic, broker or other resource, each with its value and source.",
        "configs:CONFIGS",
    ),
    "configs explain": _step(
        "configs:configs_explained",
        "DESCRIBE_CONFIGS",
        "Why a config has its value: each level that sets it, highest precedence first.",
        "configs:EXPLANATION",
    ),
    "acls list": _step(
        "acls:acls_listed",
        "DESCRIBE_CLUSTER",
        "The ACL entries that match a filter; {} matches all.",
        "acls:AclList",
    ),
    "acls explain": _step(
        "acls:access_explained",
        "DESCRIBE_CLUSTER",
        "Whether the ACLs allow a principal an operation, the entry that decides, who made it.",
        "access:ACCESS",
    ),
    "features describe": _step(
        "features:features_described",
        "DESCRIBE_CLUSTER",
        "The features, such as metadata.version, with their finalized and supported levels.",
        "features:FeatureList",
    ),
    "namespaces list": _step(
        "namespaces:namespaces_listed",
        "LIST_NAMESPACES",
        "The namespaces, each with its use and limits of topics and partitions.",
        "namespaces:NamespaceList",
    ),
    "users describe": _step(
        "users:users_described",
        "DESCRIBE_CLUSTER",
        "The users and their SCRAM credentials, without any key.",
        "users:UserList",
    ),
    "subscriptions list": _step(
        "subscriptions:subscriptions_listed",
        "subscription_rights:LIST_SUBSCRIPTIONS",
        "The patterns of topics that consumer groups have registered.",
        "users:SubscriptionList",
    ),
    "tokens describe": _step(
        "tokens:tokens_described",
        "DESCRIBE_TOKENS",
        "The delegation tokens: owner, renewers and times of issue and expiry.",
        "users:TokenList",
    ),
    "quotas describe": _step(
        "quotas:quotas_described",
        "DESCRIBE_QUOTAS",
        "The quotas set for users, client ids and IP addresses.",
        "users:QuotaList",
    ),
    "quotas explain": _step(
        "quotas:quotas_explained",
        "DESCRIBE_QUOTAS",
        "The quotas that apply to a client, each with the entity that sets it.",
        "users:QuotasExplained",
        example={"user": "ann"},
    ),
    "info": Row(
        "log_info:INFO",
        "DESCRIBE_CLUSTER",
        "What the log is: its kind, cluster, first and last offsets, size and writer.",
    ),
    "image": Row(
        "objects:IMAGE",
        "object_rights:SHOW_IMAGE",
        "Every object of the cluster at a point, by part, with all its fields.",
        "pieces:IMAGE",
        example={"parts": ["topics", "brokers"]},
    ),
    "image overview": Row(
        "overview:OVERVIEW",
        "DESCRIBE_CLUSTER",
        "The cluster at a point in numbers: topics, leaderless partitions, brokers, features.",
    ),
    "image kraft": Row(
        "objects:KRAFT_IMAGE",
        "object_rights:DESCRIBE_ALL",
        "The cluster at a point in the JSON of other readers of Kafka's metadata logs.",
        "pieces:KRAFT_IMAGE",
    ),
    "digest": Row(
        "objects:DIGEST",
        "DESCRIBE_CLUSTER",
        "A hash of the cluster's state at a point: equal for equal states.",
    ),
    "history": Row(
        "history:HISTORY",
        "object_rights:DESCRIBE_HISTORY",
        "The records that changed an object: fields before and after, who asked and why.",
    ),
    "diff": Row(
        "differences:DIFF",
        "object_rights:SHOW_DIFF",
        "What differs between two points: each changed field of each object, before and after.",
        "comparisons:DIFF",
    ),
    "blame": Row(
        "blame:BLAME",
        "object_rights:DESCRIBE_OBJECT",
        "For each field of an object, the record that last set it, who asked and why.",
    ),
    "dump": Row(
        "rows:DUMP",
        "object_rights:SHOW_ROWS",
        "The records of a range as they are in the log, with offset, time and fields.",
    ),
    "tail": Row(
        "rows:TAIL",
        "object_rights:DESCRIBE_ALL",
        "The records after a point, and new ones as they are committed.",
    ),
    "partitions states": Row(
        "states:STATES",
        "DESCRIBE_PARTITIONS",
        "When partitions changed state (new, online, offline), and the leader after each change.",
        "topics:STATES",
    ),
    "du": Row(
        "usage:USAGE",
        "DESCRIBE_CLUSTER",
        "How much space each type of record, object or cause takes in the log and in memory.",
        "usage:UsageRows",
    ),
    "export commands": Row(
        "kafka_script:SCRIPT",
        "object_rights:DESCRIBE_ALL",
        "The script of commands of Kafka's tools that creates the metadata at a point again.",
        "kafka_commands:ScriptLines",
    ),
    "outages": Row(
        "outages:OUTAGES",
        "DESCRIBE_CLUSTER",
        "When partitions had no leader, were under-replicated or below the minimum ISR, and why.",
        "pieces:OUTAGES",
        example={"from": "-3h"},
    ),
    "summary": Row(
        "summary:SUMMARY",
        "DESCRIBE_CLUSTER",
        "What happened in the log in a few sentences, the worst first, and how it ended.",
    ),
    "why": Row(
        "why:WHY",
        "object_rights:DESCRIBE_ALL",
        "The chain of causes of a field's present value, back to the first record.",
    ),
    "timeline": Row(
        "timeline:TIMELINE",
        "DESCRIBE_CLUSTER",
        "What happened in a range, as events: related records grouped, with cause and principal.",
        "incidents:TIMELINE",
        example={"from": "-3h"},
    ),
    "notes list": Row(
        "notes:NOTES",
        "DESCRIBE_CLUSTER",
        "The notes that people have pinned to offsets of the log.",
        "notes:NoteList",
    ),
    "nodes list": Row(
        "nodes:NODES",
        "DESCRIBE_CLUSTER",
        "The nodes of a shared log as they are now, and which of them leads.",
    ),
    "topics lives": Row(
        "lives:LIVES",
        "DESCRIBE_CLUSTER",
        "The topics that have had a name, each with its id, and how it got and lost the name.",
        "incidents:Lives",
    ),
    "report": Row(
        "report:REPORT",
        "object_rights:SHOW_REPORT",
        "The history of a range as one HTML page to look at in a browser.",
        None,
    ),
    "bisect": Row(
        "bisect:BISECT",
        "DESCRIBE_CLUSTER",
        "The offsets at which a condition became true or false, with record and principal.",
        "pieces:PIECES",
    ),
    "what-if": Row(
        "api.requests.what_if:WHAT_IF",
        "object_rights:DESCRIBE_ALL",
        "What would be different now if records had been left out, or the past changed.",
        "pieces:PIECES",
        example={"without": ["topic:orders"]},
    ),
    "check": Row(
        "check:CHECK",
        "DESCRIBE_CLUSTER",
        "The violations of invariants and expectations, each with its record.",
        "pieces:PIECES",
    ),
    "upgrade-check": Row(
        "upgrade:UPGRADE_CHECK",
        "DESCRIBE_CLUSTER",
        "What stands in the way of another version of Kafka, and what was not checked.",
        "upgrades:UPGRADE_CHECK",
        example={"to": "4.0"},
    ),
}
"""All questions by name."""

STEPS = {name: row for name, row in QUESTIONS.items() if row.is_step}
"""The questions that can also be run as commands."""


@functools.cache
def find_question(name: str) -> Question:
    """Return a question by name.

    Raises:
        RequestError: INVALID_REQUEST, there is no question of this name.
    """
    row = QUESTIONS.get(name)
    if row is None:
        raise RequestError("INVALID_REQUEST", f"there is no question {name!r}")
    if not row.is_step:
        return cast(Question, at_place(row.question, "api.questions"))
    return Question(
        name=name,
        request=request_type(row.question),
        describe=at_place(row.question),
        tell=None if row.tell is None else at_place(row.tell, "api.questions"),
    )


def guard_of(question: Question) -> "Guard":
    """Return the guard that checks the permissions for a question."""
    return guard_at(QUESTIONS[question.name].guard)


@functools.cache
def guard_at(right: str) -> "Guard":
    """Return a guard by its place in `controller.rights`; a name alone is in module `rights`."""
    place = right if ":" in right else f"rights:{right}"
    return cast("Guard", at_place(place, "controller.rights"))


@functools.cache
def request_type(place: str) -> Any:
    """Return the request type of the decision or description at `place` (`MODULE:NAME`).

    It is the annotation of the second parameter.
    """
    return list(get_type_hints(at_place(place)).values())[1]


@functools.cache
def at_place(place: str, package: str = "") -> Any:
    """Return the object at a place, `MODULE:NAME`; the module may be relative to `package`."""
    module, _, name = place.partition(":")
    return getattr(
        importlib.import_module(module if "." in module else f"{package}.{module}"), name
    )
