"""Answers a controller's questions about the cluster from the state that its next decision uses."""

from typing import Any

from api.questions.question import Question
from controller.decisions.context import Context
from controller.descriptions.view import View
from controller.result import ControllerResult


def described(question: Question, context: Context, request: Any) -> ControllerResult[Any]:
    """Answer a question from the state in a decision's context; no records are written."""
    assert question.describe is not None, "only a description is told by a controller"
    view = View(
        image=context.image,
        index=context.index,
        settings=context.settings,
        sessions=context.sessions,
    )
    return ControllerResult(response=question.describe(view, request))
