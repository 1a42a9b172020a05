"""The tables of questions and of commands: everything that a row names exists."""

import re

import msgspec
import pytest

from api.documents.document import Document, document_of
from api.questions.question import Question
from api.questions.table import QUESTIONS, find_question, guard_of
from api.requests.commands import ALL_COMMANDS
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


def test_every_row_says_in_one_sentence_what_the_answer_is() -> None:
    answers = [row.answer for row in QUESTIONS.values()]
    assert len(set(answers)) == len(answers)
    for answer in answers:
        assert re.fullmatch(r"[A-Z][^.]*(\w\.\w[^.]*)*\.", answer), answer
        assert len(answer) <= 100
        assert not answer.startswith(("Asks", "A request", "Return"))  # words of who sends or codes


@pytest.mark.parametrize("name", ALL_COMMANDS)
def test_a_row_names_a_decision_with_its_types_and_a_guard(name: str) -> None:
    command = ALL_COMMANDS[name]
    assert command.name == name
    assert callable(command.decide)
    assert isinstance(command.guard, Guard)
    assert command.response is not None
    assert issubclass(command.request_struct, msgspec.Struct)


def test_an_unknown_question_is_refused() -> None:
    with pytest.raises(RequestError, match="there is no question 'nope'"):
        find_question("nope")
