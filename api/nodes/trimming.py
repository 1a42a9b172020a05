"""Trimming: the leader removes batch groups from the shared log that no copy needs any more.

A group may be removed when its records are

- in the archive, from which a new node begins; without an archive nothing is trimmed,
- on the disk of each registered node, as the node reports it; a stopped or gone node counts until
  `nodes remove`,
- older than the request window: a claim has to find what was written shortly before.

The first group that ends at or after the bound is kept, and the group before it. A folder that ends
at the bound continues after the first group that ends there, since a segment may begin in the next
group; and a folder that has only a part of that first group needs the group before it.
"""

import asyncio
import logging
from collections.abc import Callable

from api.nodes.membership import content_of
from metadata_log.limits import REQUEST_WINDOW_OFFSETS
from metadata_log.shared.shared_log import MissingGroupError, SharedLog, kept_group
from records.errors import UnavailableError

_LOG = logging.getLogger(__name__)


class Trimming:
    """Trims a shared log at intervals, while this node leads."""

    def __init__(
        self,
        log: SharedLog,
        archived_end: Callable[[], int | None],
        *,
        every_s: float,
        kept_offsets: int = REQUEST_WINDOW_OFFSETS,
    ) -> None:
        """Prepare to trim; `run` starts it.

        Args:
            archived_end: Returns the end offset of the archive; None if there is none.
            every_s: Pause between two attempts, in seconds.
            kept_offsets: Number of newest records that are never trimmed.
        """
        self._log = log
        self.archived_end = archived_end
        self._every_s = every_s
        self._kept_offsets = kept_offsets

    async def run(self) -> None:
        """Trim until cancelled; if the store does not answer, or has lost a group, try again."""
        while True:
            await asyncio.sleep(self._every_s)
            try:
                await self.trim()
            except (UnavailableError, MissingGroupError) as error:
                _LOG.warning("the shared log was not trimmed: %s", error)

    async def trim(self) -> None:
        """Trim once; does nothing without an archive.

        Raises:
            UnavailableError: the store does not answer.
            MissingGroupError: the store has lost a group.
        """
        archived_end = self.archived_end()
        if archived_end is None:
            return
        members = [content_of(member) for member in await self._log.members()]
        end = await self._log.confirmed_end()
        bound = min(
            archived_end,
            end.end_offset - self._kept_offsets,
            *(member.durable_end for member in members),
        )
        start = await self._log.start()
        number = await self._first_to(bound, start, end.number - 1) - 1
        if number > start:
            await self._log.trim(number)
            _LOG.info("the shared log begins with group %d now; all before is archived", number)

    async def _first_to(self, offset: int, low: int, high: int) -> int:
        """Return the number of the first group that ends at or after an offset, at most `high`."""
        while low < high:
            middle = (low + high) // 2
            group = await kept_group(self._log, middle, high)
            if group.end_offset >= offset:
                high = middle
            else:
                low = group.number + 1
        return low
