"""The table of questions that can be asked by name over a connection: one row for each.

A row names what belongs to its question, and each is imported when it is used: importing all takes
longer than most answers, and a worker process is asked few questions. `api.requests.commands` is
the table of the commands that change a cluster.
"""

import functools
import importlib
from typing import TYPE_CHECKING, Any, cast

import msgspec

from api.questions.question import Question
from records.errors import RequestError

if TYPE_CHECKING:
    from controller.rights.guard import Guard

AS_IT_IS = "as it is"
"""In the place of a document: the answer is its own JSON form."""


class Row(msgspec.Struct, frozen=True):
    """What belongs to a question; places are `MODULE:NAME`.

    Attributes:
        question: The `Question`, in a module of `api.questions`; a question about commands is above
            them, in `api.requests`.
        guard: What checks the permissions, in `controller.rights`.
        document: The `Document` of the answer, in `api.documents`; None if it is a page.
        is_step: True for a question about a cluster at one point, which can also be run as a
            command: alone, or as a step of a transaction.
        example: Values of parameters for the OpenAPI document, beside those that all questions
            share.
    """

    name: str
    question: str
    guard: str
    document: str | None = AS_IT_IS
    is_step: bool = False
    example: dict[str, Any] = {}


def _step(name: str, question: str, guard: str, **example: Any) -> Row:
    """Return the row of a question about a cluster at one point."""
    places = (f"descriptions:{question}", f"rights:{guard}", f"answers:{question}")
    return Row(name, *places, is_step=True, example=example)


QUESTIONS: dict[str, Row] = {
    row.name: row
    for row in (
        _step("topics list", "TOPICS", "LIST_TOPICS"),
        _step("topics describe", "TOPIC", "DESCRIBE_TOPICS"),
        _step("partitions describe", "PARTITIONS", "DESCRIBE_PARTITIONS"),
        _step("partitions removals", "REMOVALS", "DESCRIBE_PARTITIONS"),
        Row(
            "reassignments list",
            "reassignments:REASSIGNMENTS",
            "rights:DESCRIBE_CLUSTER",
            "answers:REASSIGNMENTS",
            is_step=True,
        ),
        _step("brokers list", "BROKERS", "DESCRIBE_CLUSTER"),
        _step("brokers describe", "BROKER", "DESCRIBE_CLUSTER"),
        _step("configs describe", "CONFIGS", "DESCRIBE_CONFIGS"),
        _step("configs explain", "EXPLANATION", "DESCRIBE_CONFIGS"),
        _step("acls list", "ACLS", "DESCRIBE_CLUSTER"),
        _step("acls explain", "ACCESS", "DESCRIBE_CLUSTER"),
        _step("features describe", "FEATURES", "DESCRIBE_CLUSTER"),
        _step("namespaces list", "NAMESPACES", "LIST_NAMESPACES"),
        _step("users describe", "USERS", "DESCRIBE_CLUSTER"),
        Row(
            "subscriptions list",
            "descriptions:SUBSCRIPTIONS",
            "subscription_rights:LIST_SUBSCRIPTIONS",
            "answers:SUBSCRIPTIONS",
            is_step=True,
        ),
        _step("tokens describe", "TOKENS", "DESCRIBE_TOKENS"),
        _step("quotas describe", "QUOTAS", "DESCRIBE_QUOTAS"),
        _step("quotas explain", "QUOTAS_OF_CLIENT", "DESCRIBE_QUOTAS", user="ann"),
        Row("info", "log_info:INFO", "rights:DESCRIBE_CLUSTER"),
        Row("image", "objects:IMAGE", "object_rights:SHOW_IMAGE", "answers:IMAGE"),
        Row("image overview", "overview:OVERVIEW", "rights:DESCRIBE_CLUSTER"),
        Row(
            "image kraft",
            "objects:KRAFT_IMAGE",
            "object_rights:DESCRIBE_ALL",
            "answers:KRAFT_IMAGE",
        ),
        Row("digest", "objects:DIGEST", "rights:DESCRIBE_CLUSTER"),
        Row("history", "changes:HISTORY", "object_rights:DESCRIBE_HISTORY"),
        Row("diff", "differences:DIFF", "object_rights:SHOW_DIFF", "answers:DIFF"),
        Row("blame", "changes:BLAME", "object_rights:DESCRIBE_OBJECT"),
        Row("dump", "rows:DUMP", "object_rights:SHOW_ROWS"),
        Row("tail", "rows:TAIL", "object_rights:DESCRIBE_ALL"),
        Row("partitions states", "states:STATES", "rights:DESCRIBE_PARTITIONS", "answers:STATES"),
        Row("du", "usage:USAGE", "rights:DESCRIBE_CLUSTER", "answers:USAGE"),
        Row("outages", "outages:OUTAGES", "rights:DESCRIBE_CLUSTER", "answers:OUTAGES"),
        Row("why", "why:WHY", "object_rights:DESCRIBE_ALL"),
        Row("timeline", "timeline:TIMELINE", "rights:DESCRIBE_CLUSTER", "answers:TIMELINE"),
        Row("notes list", "notes:NOTES", "rights:DESCRIBE_CLUSTER", "answers:NOTES"),
        Row("topics lives", "lives:LIVES", "rights:DESCRIBE_CLUSTER", "answers:LIVES"),
        Row("report", "report:REPORT", "object_rights:SHOW_REPORT", None),
        Row("bisect", "bisect:BISECT", "rights:DESCRIBE_CLUSTER", "answers:PIECES"),
        Row(
            "what-if",
            "api.requests.what_if:WHAT_IF",
            "object_rights:DESCRIBE_ALL",
            "answers:PIECES",
            example={"without": ["topic:orders"]},
        ),
        Row("check", "check:CHECK", "rights:DESCRIBE_CLUSTER", "answers:PIECES"),
        Row(
            "upgrade-check",
            "upgrade:UPGRADE_CHECK",
            "rights:DESCRIBE_CLUSTER",
            "answers:UPGRADE_CHECK",
            example={"to": "4.0"},
        ),
    )
}
"""All questions by name."""

STEPS = {name: row for name, row in QUESTIONS.items() if row.is_step}
"""Those that can also be run as commands."""


@functools.cache
def find_question(name: str) -> Question:
    """Return a question by name.

    Raises:
        RequestError: INVALID_REQUEST, there is no question of this name.
    """
    if name not in QUESTIONS:
        raise RequestError("INVALID_REQUEST", f"there is no question {name!r}")
    return cast(Question, at_place(QUESTIONS[name].question, "api.questions"))


def guard_of(question: Question) -> "Guard":
    """Return the guard that checks the permissions for a question."""
    return cast("Guard", at_place(QUESTIONS[question.name].guard, "controller.rights"))


@functools.cache
def at_place(place: str, package: str) -> Any:
    """Return what a place names, in a module of a package or in one named in full."""
    module, _, name = place.partition(":")
    return getattr(
        importlib.import_module(module if "." in module else f"{package}.{module}"), name
    )
