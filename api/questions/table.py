"""The questions that can be asked by name, of a log directory or over a connection.

`api.commands` is the same for commands that change a cluster.
"""

from collections.abc import Callable
from typing import Any, get_type_hints

import msgspec

from api.questions.computed import Computed
from api.questions.past import Past
from api.questions.states import WalkStates, walked_states
from controller.authorization import rights
from controller.authorization.guard import Guard
from controller.decisions.context import Context
from controller.descriptions.queries import (
    DescribeConfigs,
    DescribeFeatures,
    DescribePartitions,
    DescribeTopics,
    ListBrokers,
    ListNamespaces,
    ListReassignments,
    ListRemovals,
    ListTopics,
    broker_described,
    brokers_listed,
    configs_described,
    features_described,
    namespaces_listed,
    partitions_described,
    reassignments_listed,
    removals_listed,
    topics_described,
    topics_listed,
)
from controller.descriptions.state_walk import Transition
from controller.descriptions.view import View
from controller.result import ControllerResult
from records.errors import RequestError


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question, the type of its request, and the rights it requires.

    Attributes:
        describe: Answers from a view of the cluster at one point.
        tell: Answers from the log, up to an offset; for questions that need several images.
        item: The type of one item, if the answer has many and comes in pages.
    """

    name: str
    request: Any
    guard: Guard
    describe: Callable[[View, Any], Any] | None = None
    tell: Callable[[Past, int, Any], Computed] | None = None
    item: Any = None

    @property
    def response(self) -> Any:
        """The type of the answer, or of a page if it comes in pages."""
        if self.item is not None:
            return tuple[self.item, ...]  # type: ignore[name-defined]
        assert self.describe is not None, "an answer without items describes a view"
        return get_type_hints(self.describe)["return"]

    def answered(self, past: Past, at: int, request: Any) -> Computed:
        """Return the answer at an offset.

        Raises:
            RequestError: a named object or point does not exist.
            CorruptLogError: the log is damaged.
        """
        if self.tell is not None:
            return self.tell(past, at, request)
        assert self.describe is not None, "a question is answered in one way"
        image = past.image(at)
        answer = self.describe(past.view(image), request)
        return Computed(answer=answer, about=lambda: past.about_image(image, at))

    def decide(self, context: Context, request: Any) -> ControllerResult[Any]:
        """Answer from the latest state; writes nothing."""
        assert self.describe is not None, "only a description is told by the controller"
        return ControllerResult(response=self.describe(_view(context), request))


def _view(context: Context) -> View:
    return View(
        image=context.image,
        index=context.index,
        settings=context.settings,
        sessions=context.sessions,
    )


DESCRIPTIONS = {
    question.name: question
    for question in (
        Question(
            name="topics list",
            request=ListTopics,
            describe=topics_listed,
            guard=rights.LIST_TOPICS,
        ),
        Question(
            name="topics describe",
            request=DescribeTopics,
            describe=topics_described,
            guard=rights.DESCRIBE_TOPICS,
        ),
        Question(
            name="partitions describe",
            request=DescribePartitions,
            describe=partitions_described,
            guard=rights.DESCRIBE_PARTITIONS,
        ),
        Question(
            name="partitions removals",
            request=ListRemovals,
            describe=removals_listed,
            guard=rights.DESCRIBE_PARTITIONS,
        ),
        Question(
            name="reassignments list",
            request=ListReassignments,
            describe=reassignments_listed,
            guard=rights.DESCRIBE_CLUSTER,
        ),
        Question(
            name="brokers list",
            request=ListBrokers,
            describe=brokers_listed,
            guard=rights.DESCRIBE_CLUSTER,
        ),
        Question(
            name="brokers describe",
            request=int,
            describe=broker_described,
            guard=rights.DESCRIBE_CLUSTER,
        ),
        Question(
            name="configs describe",
            request=DescribeConfigs,
            describe=configs_described,
            guard=rights.DESCRIBE_CONFIGS,
        ),
        Question(
            name="features describe",
            request=DescribeFeatures,
            describe=features_described,
            guard=rights.DESCRIBE_CLUSTER,
        ),
        Question(
            name="namespaces list",
            request=ListNamespaces,
            describe=namespaces_listed,
            guard=rights.LIST_NAMESPACES,
        ),
    )
}
"""Questions about a cluster at one point. At the log's end a service also knows heartbeats."""

_OF_THE_PAST = {
    question.name: question
    for question in (
        Question(
            name="partitions states",
            request=WalkStates,
            item=Transition,
            tell=walked_states,
            guard=rights.DESCRIBE_PARTITIONS,
        ),
    )
}

QUESTIONS = DESCRIPTIONS | _OF_THE_PAST
"""All questions."""


def find_question(name: str) -> Question:
    """Return a question by name.

    Raises:
        RequestError: INVALID_REQUEST, there is none.
    """
    question = QUESTIONS.get(name)
    if question is None:
        raise RequestError("INVALID_REQUEST", f"there is no question {name!r}")
    return question
