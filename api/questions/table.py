"""The questions that can be asked by name over a connection, and the permissions each requires.

`api.requests.commands` has the same table for the commands that change a cluster.
"""

from api.questions.described import GUARDED
from api.questions.lookup import NAMES, find_question
from api.questions.question import Question
from controller.rights import object_rights, rights
from controller.rights.guard import Guard

_OF_THE_PAST = {
    "info": rights.DESCRIBE_CLUSTER,
    "image": object_rights.SHOW_IMAGE,
    "image overview": rights.DESCRIBE_CLUSTER,
    "image kraft": object_rights.DESCRIBE_ALL,
    "digest": rights.DESCRIBE_CLUSTER,
    "history": object_rights.DESCRIBE_HISTORY,
    "diff": object_rights.SHOW_DIFF,
    "blame": object_rights.DESCRIBE_OBJECT,
    "dump": object_rights.SHOW_ROWS,
    "tail": object_rights.DESCRIBE_ALL,
    "partitions states": rights.DESCRIBE_PARTITIONS,
    "du": rights.DESCRIBE_CLUSTER,
    "outages": rights.DESCRIBE_CLUSTER,
    "why": object_rights.DESCRIBE_ALL,
    "timeline": rights.DESCRIBE_CLUSTER,
    "notes list": rights.DESCRIBE_CLUSTER,
    "topics lives": rights.DESCRIBE_CLUSTER,
    "report": object_rights.SHOW_REPORT,
    "bisect": rights.DESCRIBE_CLUSTER,
    "what-if": object_rights.DESCRIBE_ALL,
    "check": rights.DESCRIBE_CLUSTER,
    "upgrade-check": rights.DESCRIBE_CLUSTER,
}

_GUARDS = {question.name: guard for question, guard in GUARDED} | _OF_THE_PAST

assert _GUARDS.keys() == NAMES


QUESTIONS = {name: find_question(name) for name in _GUARDS}
"""All questions."""


def guard_of(question: Question) -> Guard:
    """Return the guard that checks the permissions for a question."""
    return _GUARDS[question.name]
