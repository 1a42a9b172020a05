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
    document: str | None = AS_IT_IS
    is_step: bool = False
    tell: str | None = None
    struct: str | None = None
    example: dict[str, Any] = {}


def _step(describe: str, guard: str, document: str, **more: Any) -> Row:
    """Return the row of a question about a cluster at one point."""
    return Row(f"controller.descriptions.{describe}", guard, document, is_step=True, **more)


QUESTIONS: dict[str, Row] = {
    "topics list": _step("topics:topics_listed", "LIST_TOPICS", "topics:TopicList"),
    "topics describe": _step("topics:topics_described", "DESCRIBE_TOPICS", "topics:TOPICS"),
    "partitions describe": _step(
        "partitions:partitions_described", "DESCRIBE_PARTITIONS", "topics:PARTITIONS"
    ),
    "partitions removals": _step(
        "progress:removals_listed", "DESCRIBE_PARTITIONS", "topics:RemovalList"
    ),
    "reassignments list": _step(
        "progress:reassignments_listed",
        "DESCRIBE_CLUSTER",
        "topics:ReassignmentList",
        tell="reassignments:reassignments_running",
    ),
    "brokers list": _step("brokers:brokers_listed", "DESCRIBE_CLUSTER", "brokers:BrokerList"),
    "brokers describe": _step(
        "brokers:broker_described", "DESCRIBE_CLUSTER", "brokers:BROKER", struct="DescribeBroker"
    ),
    "configs describe": _step("configs:configs_described", "DESCRIBE_CONFIGS", "configs:CONFIGS"),
    "configs explain": _step(
        "configs:configs_explained", "DESCRIBE_CONFIGS", "configs:EXPLANATION"
    ),
    "acls list": _step("acls:acls_listed", "DESCRIBE_CLUSTER", "acls:AclList"),
    "acls explain": _step("acls:access_explained", "DESCRIBE_CLUSTER", "access:ACCESS"),
    "features describe": _step(
        "features:features_described", "DESCRIBE_CLUSTER", "features:FeatureList"
    ),
    "namespaces list": _step(
        "namespaces:namespaces_listed", "LIST_NAMESPACES", "namespaces:NamespaceList"
    ),
    "users describe": _step("users:users_described", "DESCRIBE_CLUSTER", "users:UserList"),
    "subscriptions list": _step(
        "subscriptions:subscriptions_listed",
        "subscription_rights:LIST_SUBSCRIPTIONS",
        "users:SubscriptionList",
    ),
    "tokens describe": _step("tokens:tokens_described", "DESCRIBE_TOKENS", "users:TokenList"),
    "quotas describe": _step("quotas:quotas_described", "DESCRIBE_QUOTAS", "users:QuotaList"),
    "quotas explain": _step(
        "quotas:quotas_explained",
        "DESCRIBE_QUOTAS",
        "users:QuotasExplained",
        example={"user": "ann"},
    ),
    "info": Row("log_info:INFO", "DESCRIBE_CLUSTER"),
    "image": Row("objects:IMAGE", "object_rights:SHOW_IMAGE", "pieces:IMAGE"),
    "image overview": Row("overview:OVERVIEW", "DESCRIBE_CLUSTER"),
    "image kraft": Row("objects:KRAFT_IMAGE", "object_rights:DESCRIBE_ALL", "pieces:KRAFT_IMAGE"),
    "digest": Row("objects:DIGEST", "DESCRIBE_CLUSTER"),
    "history": Row("history:HISTORY", "object_rights:DESCRIBE_HISTORY"),
    "diff": Row("differences:DIFF", "object_rights:SHOW_DIFF", "comparisons:DIFF"),
    "blame": Row("blame:BLAME", "object_rights:DESCRIBE_OBJECT"),
    "dump": Row("rows:DUMP", "object_rights:SHOW_ROWS"),
    "tail": Row("rows:TAIL", "object_rights:DESCRIBE_ALL"),
    "partitions states": Row("states:STATES", "DESCRIBE_PARTITIONS", "topics:STATES"),
    "du": Row("usage:USAGE", "DESCRIBE_CLUSTER", "usage:UsageRows"),
    "outages": Row("outages:OUTAGES", "DESCRIBE_CLUSTER", "pieces:OUTAGES"),
    "summary": Row("summary:SUMMARY", "DESCRIBE_CLUSTER"),
    "why": Row("why:WHY", "object_rights:DESCRIBE_ALL"),
    "timeline": Row("timeline:TIMELINE", "DESCRIBE_CLUSTER", "incidents:TIMELINE"),
    "notes list": Row("notes:NOTES", "DESCRIBE_CLUSTER", "notes:NoteList"),
    "nodes list": Row("nodes:NODES", "DESCRIBE_CLUSTER"),
    "topics lives": Row("lives:LIVES", "DESCRIBE_CLUSTER", "incidents:Lives"),
    "report": Row("report:REPORT", "object_rights:SHOW_REPORT", None),
    "bisect": Row("bisect:BISECT", "DESCRIBE_CLUSTER", "pieces:PIECES"),
    "what-if": Row(
        "api.requests.what_if:WHAT_IF",
        "object_rights:DESCRIBE_ALL",
        "pieces:PIECES",
        example={"without": ["topic:orders"]},
    ),
    "check": Row("check:CHECK", "DESCRIBE_CLUSTER", "pieces:PIECES"),
    "upgrade-check": Row(
        "upgrade:UPGRADE_CHECK", "DESCRIBE_CLUSTER", "upgrades:UPGRADE_CHECK", example={"to": "4.0"}
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
    """Return the guard of a row, a place in `controller.rights`; in `rights` if it is a name."""
    place = right if ":" in right else f"rights:{right}"
    return cast("Guard", at_place(place, "controller.rights"))


@functools.cache
def request_type(place: str) -> Any:
    """Return the type of the request, the second argument of a decision or a description."""
    return list(get_type_hints(at_place(place)).values())[1]


@functools.cache
def at_place(place: str, package: str = "") -> Any:
    """Return the object at a place, `MODULE:NAME`; the module may be relative to `package`."""
    module, _, name = place.partition(":")
    return getattr(
        importlib.import_module(module if "." in module else f"{package}.{module}"), name
    )
