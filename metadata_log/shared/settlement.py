"""Settlement of a write whose outcome is unknown: fence first, then read.

A write that got no answer may still be under way, so reading proves nothing: the group can appear
afterwards. So a claim for the same number is appended. Either the claim gets the number, and the
group never will; or the number is taken already, by the group itself or by another node.
"""

import secrets
from typing import NamedTuple

from metadata_log.shared.shared_log import NONCE_SIZE, Group, Position, SharedLog, claim_of
from records.errors import FencedError, Outcome


class Settled(NamedTuple):
    """The outcome of a group, and the end of the shared log from which its writer may continue.

    `is_committed`: True if the group is in the shared log; then `end` is right after the group.
    Otherwise the group never will be there, and `end` is right after the claim that took its
    number, in a higher epoch.
    """

    is_committed: bool
    end: Position


class Settlement:
    """Finds out the outcome of one write, in one or several attempts with the same claim.

    A group that turns out not to be committed must never be sent again: its blocks carry the old
    epoch.
    """

    def __init__(self, group: Group, *, after: Position) -> None:
        """Prepare to find out whether a group was committed.

        Args:
            after: The position after which the group was to be appended.
        """
        self._group = group
        self._after = after
        self._claim = claim_of(after, group.epoch + 1, secrets.token_bytes(NONCE_SIZE))

    async def attempt(self, log: SharedLog) -> Settled:
        """Find out whether the group was committed.

        Raises:
            FencedError: another node has taken over. The outcome is NOTHING, or UNKNOWN if the
                group's number is already trimmed.
            UnavailableError: the store does not answer; try again.
        """
        try:
            await log.append(self._claim, after=self._after)
        except FencedError as fenced:
            await self._append_again(log, fenced)
            return Settled(is_committed=True, end=self._group.end)
        return Settled(is_committed=False, end=self._claim.end)

    async def _append_again(self, log: SharedLog, fenced: FencedError) -> None:
        """Append the group again, which succeeds only if it is stored under its number already."""
        try:
            await log.append(self._group, after=self._after)
        except FencedError:
            is_trimmed = self._group.number < await log.start()
            outcome = Outcome.UNKNOWN if is_trimmed else Outcome.NOTHING
            raise fenced.with_outcome(outcome) from fenced
