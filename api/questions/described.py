"""The questions about a cluster at one point, and the permissions each requires.

They can also be run as commands: alone, or as a step of a transaction.
"""

from typing import Any

from api.questions.descriptions import (
    ACCESS,
    ACLS,
    BROKER,
    BROKERS,
    CONFIGS,
    EXPLANATION,
    FEATURES,
    NAMESPACES,
    PARTITIONS,
    QUOTAS,
    QUOTAS_OF_CLIENT,
    REMOVALS,
    SUBSCRIPTIONS,
    TOKENS,
    TOPIC,
    TOPICS,
    USERS,
)
from api.questions.question import Question
from api.questions.reassignments import REASSIGNMENTS
from controller.decisions.context import Context
from controller.descriptions.view import View
from controller.results.result import ControllerResult
from controller.rights import rights, subscription_rights

GUARDED = (
    (TOPICS, rights.LIST_TOPICS),
    (TOPIC, rights.DESCRIBE_TOPICS),
    (PARTITIONS, rights.DESCRIBE_PARTITIONS),
    (REMOVALS, rights.DESCRIBE_PARTITIONS),
    (REASSIGNMENTS, rights.DESCRIBE_CLUSTER),
    (BROKERS, rights.DESCRIBE_CLUSTER),
    (BROKER, rights.DESCRIBE_CLUSTER),
    (CONFIGS, rights.DESCRIBE_CONFIGS),
    (EXPLANATION, rights.DESCRIBE_CONFIGS),
    (ACLS, rights.DESCRIBE_CLUSTER),
    (ACCESS, rights.DESCRIBE_CLUSTER),
    (FEATURES, rights.DESCRIBE_CLUSTER),
    (NAMESPACES, rights.LIST_NAMESPACES),
    (USERS, rights.DESCRIBE_CLUSTER),
    (SUBSCRIPTIONS, subscription_rights.LIST_SUBSCRIPTIONS),
    (TOKENS, rights.DESCRIBE_TOKENS),
    (QUOTAS, rights.DESCRIBE_QUOTAS),
    (QUOTAS_OF_CLIENT, rights.DESCRIBE_QUOTAS),
)
"""Each question with its guard."""

DESCRIPTIONS = {question.name: question for question, _ in GUARDED}
"""The questions by name."""


def described(question: Question, context: Context, request: Any) -> ControllerResult[Any]:
    """Answer a question from the state in a decision's context; no records are written."""
    assert question.describe is not None, "a controller answers only descriptions"
    view = View(
        image=context.image,
        index=context.index,
        settings=context.settings,
        sessions=context.sessions,
    )
    return ControllerResult(response=question.describe(view, request))
