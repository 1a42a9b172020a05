"""The table of questions: everything that a row names exists."""

import pytest

from api.documents.document import Document, document_of
from api.questions.question import Question
from api.questions.table import QUESTIONS, find_question, guard_of
from controller.rights.guard import Guard
from records.errors import RequestError


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_row_names_a_question_a_guard_and_a_document(name: str) -> None:
    question = find_question(name)
    assert isinstance(question, Question)
    assert question.name == name
    assert isinstance(guard_of(question), Guard)
    document = document_of(question)
    assert isinstance(document, Document) or name == "report"
    assert QUESTIONS[name].is_step == (question.tell is None or question.describe is not None)


def test_an_unknown_question_is_refused() -> None:
    with pytest.raises(RequestError, match="there is no question 'nope'"):
        find_question("nope")
