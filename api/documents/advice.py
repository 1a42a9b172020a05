"""JSON form of the advice given after the loss of a quorum."""

from collections.abc import Sequence

import msgspec

from metadata_log.kraft.quorum.rule import Verdict
from replay.image.fields import copied
from replay.incidents.at_risk import AtRisk


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

    @classmethod
    def of(
        cls,
        verdict: Verdict,
        at_risk: Sequence[AtRisk],
        contradiction: str | None,
        steps: Sequence[str],
        written: str | None,
    ) -> "Advice":
        """Return the advice that follows from a verdict, in its JSON form."""
        return copied(
            verdict,
            cls,
            seed=None if verdict.seed is None else verdict.seed.name,
            at_risk=at_risk,
            contradiction=contradiction,
            steps=steps,
            written=written,
        )
