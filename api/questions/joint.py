"""Questions about several logs at once: how they relate, and which of them to start from."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from api.questions.advice import Advice, advise, version_of
from api.questions.compared_logs import compare_logs
from api.questions.compared_nodes import NodesCompared
from metadata_log.files.names import MANIFEST
from records.errors import RequestError
from replay.about import About


class CompareLogs(msgspec.Struct, frozen=True, kw_only=True):
    """Asks how logs relate; `logs`: their names, all if empty."""

    logs: tuple[str, ...] = ()


class ShowAdvice(msgspec.Struct, frozen=True, kw_only=True):
    """Asks what to do after a lost quorum; `logs`: directories of nodes, by name, all if empty.

    `voters`: ids of the voters of a static quorum; needed if no log names the voters. `kafka`: the
    cluster's version, such as 3.7.
    """

    logs: tuple[str, ...] = ()
    voters: tuple[int, ...] = ()
    kafka: str = ""


class JointQuestion(NamedTuple):
    """A question about several logs.

    Attributes:
        answer: What the answer is, in one sentence.
        request: The request's struct; its field `logs` has names of logs.
        document: The type of the answer.
        ask: Takes the places of the logs, and the request; raises RequestError if there are too
            few of them, and the errors of the function that it calls.
    """

    answer: str
    request: type[Any]
    document: type[Any]
    ask: Callable[[Sequence[str], Any], tuple[Any, About]]


def _compare(places: Sequence[str], request: CompareLogs) -> tuple[NodesCompared, About]:
    if len(places) < 2:
        raise RequestError("INVALID_REQUEST", "compare needs two logs or more")
    return compare_logs(places)


def _advise(places: Sequence[str], request: ShowAdvice) -> tuple[Advice, About]:
    nodes = [Path(place) for place in places if request.logs or _is_of_node(place)]
    if not nodes:
        raise RequestError(
            "INVALID_REQUEST",
            "advice is about the directories of Kafka's controllers and brokers, and none of these "
            "is one; view the directories of all that survive",
        )
    try:
        version = version_of(request.kafka) if request.kafka else None
    except ValueError as error:
        raise RequestError("INVALID_REQUEST", f"kafka: {error}") from None
    found = advise(nodes, frozenset(request.voters), version)
    return found.advice, found.about


def _is_of_node(place: str) -> bool:
    return "://" not in place and not (Path(place) / MANIFEST).exists()


JOINT_QUESTIONS = {
    "compare": JointQuestion(
        "Which of these logs belong together, which are behind, and where they part.",
        CompareLogs,
        NodesCompared,
        _compare,
    ),
    "advise": JointQuestion(
        "After a lost quorum: which node's directory to start from, how, and what is lost.",
        ShowAdvice,
        Advice,
        _advise,
    ),
}
"""All questions about several logs by name."""
