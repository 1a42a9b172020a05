"""Advice on recovering a Kafka cluster after the loss of its quorum."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from metadata_log.kraft.quorum.facts import NodeFacts
from metadata_log.kraft.quorum.node_facts import read_facts
from metadata_log.kraft.quorum.rule import Verdict, best_of, decide, log_to_load
from metadata_log.kraft.quorum.steps import steps, steps_before_loading
from replay.about import About
from replay.image.fields import copied
from replay.image.provenance import NotUnderstood
from replay.incidents.at_risk import AtRisk, changes_at_risk
from replay.incidents.load_check import contradiction_in


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """The advised steps, and the changes that they can lose.

    Attributes:
        verdict: `start_them`, `seed` or `refused`.
        certain: True if no committed record can be missing.
        seed: The directory to start from, as given in the request; None unless the verdict is
            `seed`.
        proven_end: All records below this offset are proven to be committed.
        at_risk: Changes at or above `proven_end`: first those that are lost, then those that the
            seed keeps.
        contradiction: The record at which Kafka stops when it loads the log, and the record that it
            contradicts; None if there is none.
        unknown: Facts that cannot be found out from any directory.
        written: The new directory; None if none was requested.
    """

    verdict: str
    certain: bool
    seed: str | None
    reason: str
    proven_end: int
    at_risk: Sequence[AtRisk]
    contradiction: str | None
    unknown: Sequence[str]
    steps: Sequence[str]
    written: str | None = None


class Advised(NamedTuple):
    """Advice, and what it was found from."""

    nodes: Sequence[NodeFacts]
    verdict: Verdict
    advice: Advice

    @property
    def about(self) -> About:
        """The position of the most up-to-date log."""
        best = best_of(self.nodes)
        if best is None or best.end is None:
            return About(as_of=-1, history_start=0, log_end=0)
        unknown = NotUnderstood(best.unknown_records, best.first_unknown)
        return About(
            as_of=best.end.end_offset - 1,
            history_start=min(best.batches.start_offset, best.end.end_offset),
            log_end=best.end.end_offset,
            not_understood=unknown if best.unknown_records else None,
        )


def advise(
    directories: Sequence[Path], voters: frozenset[int], kafka: tuple[int, int] | None
) -> Advised:
    """Return the advice that follows from the directories of surviving nodes.

    Args:
        voters: Ids of the voters of a static quorum; needed if no log names the voters.
        kafka: The cluster's version, such as (3, 7); None if it is not known.

    Raises:
        RequestError: LOG_NOT_FOUND, a path is not a directory of a Kafka node.
    """
    nodes = [read_facts(path) for path in directories]
    verdict = decide(nodes, voters)
    loaded = log_to_load(verdict, nodes)
    stopped = None if loaded is None else contradiction_in(loaded)
    advice = copied(
        verdict,
        Advice,
        seed=None if verdict.seed is None else verdict.seed.name,
        at_risk=changes_at_risk(verdict, nodes),
        contradiction=None if stopped is None else str(stopped),
        steps=[*steps_before_loading(loaded, stopped), *steps(verdict, nodes, kafka)],
        written=None,
    )
    return Advised(nodes, verdict, advice)


def version_of(text: str) -> tuple[int, int]:
    """Return major and minor number of a version of Kafka.

    Raises:
        ValueError: the text is no version such as 3.7.
    """
    try:
        major, minor = text.split(".")[:2]
        return int(major), int(minor)
    except ValueError:
        raise ValueError(f"{text!r} is no version such as 3.7") from None
