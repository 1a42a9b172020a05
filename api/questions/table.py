"""The questions that can be asked by name over a connection, and the permissions each requires.

`api.commands` has the same table for the commands that change a cluster.
"""

from api.questions.bisect import BISECT
from api.questions.changes import BLAME, HISTORY
from api.questions.check import CHECK
from api.questions.described import GUARDED
from api.questions.differences import DIFF
from api.questions.lives import LIVES
from api.questions.log_info import INFO
from api.questions.notes import NOTES
from api.questions.objects import DIGEST, IMAGE, KRAFT_IMAGE
from api.questions.outages import OUTAGES
from api.questions.overview import OVERVIEW
from api.questions.question import Question
from api.questions.report import REPORT
from api.questions.rows import DUMP, TAIL
from api.questions.states import STATES
from api.questions.timeline import TIMELINE
from api.questions.upgrade import UPGRADE_CHECK
from api.questions.usage import USAGE
from api.questions.what_if import WHAT_IF
from api.questions.why import WHY
from controller.rights import object_rights, rights
from controller.rights.guard import Guard
from records.errors import RequestError

_OF_THE_PAST = (
    (INFO, rights.DESCRIBE_CLUSTER),
    (IMAGE, object_rights.SHOW_IMAGE),
    (OVERVIEW, rights.DESCRIBE_CLUSTER),
    (KRAFT_IMAGE, object_rights.DESCRIBE_ALL),
    (DIGEST, rights.DESCRIBE_CLUSTER),
    (HISTORY, object_rights.DESCRIBE_HISTORY),
    (DIFF, object_rights.SHOW_DIFF),
    (BLAME, object_rights.DESCRIBE_OBJECT),
    (DUMP, object_rights.SHOW_ROWS),
    (TAIL, object_rights.DESCRIBE_ALL),
    (STATES, rights.DESCRIBE_PARTITIONS),
    (USAGE, rights.DESCRIBE_CLUSTER),
    (OUTAGES, rights.DESCRIBE_CLUSTER),
    (WHY, object_rights.DESCRIBE_ALL),
    (TIMELINE, rights.DESCRIBE_CLUSTER),
    (NOTES, rights.DESCRIBE_CLUSTER),
    (LIVES, rights.DESCRIBE_CLUSTER),
    (REPORT, object_rights.SHOW_REPORT),
    (BISECT, rights.DESCRIBE_CLUSTER),
    (WHAT_IF, object_rights.DESCRIBE_ALL),
    (CHECK, rights.DESCRIBE_CLUSTER),
    (UPGRADE_CHECK, rights.DESCRIBE_CLUSTER),
)

_ALL = (*GUARDED, *_OF_THE_PAST)

QUESTIONS = {question.name: question for question, _ in _ALL}
"""All questions."""

_GUARDS = {question.name: guard for question, guard in _ALL}


def find_question(name: str) -> Question:
    """Return a question by name.

    Raises:
        RequestError: INVALID_REQUEST, there is no question of this name.
    """
    question = QUESTIONS.get(name)
    if question is None:
        raise RequestError("INVALID_REQUEST", f"there is no question {name!r}")
    return question


def guard_of(question: Question) -> Guard:
    """Return the guard that checks the permissions for a question."""
    return _GUARDS[question.name]
