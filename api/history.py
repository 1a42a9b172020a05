"""The last images of a running service, and which topics changed between them.

A follower that knows the image of one offset is told what changed since; one whose offset is no
longer kept, or was never an image's, must be told everything.
"""

import asyncio
from collections import deque

import msgspec

from metadata_log.batch import Batch
from records.base import Uuid
from replay.image.metadata import MetadataImage

IMAGES_MAX = 1_000
"""Images that are kept. Neighbours share nearly everything: some kilobytes each."""


class Change(msgspec.Struct, frozen=True):
    """Two images, and the topics that records between them spoke of."""

    before: MetadataImage
    after: MetadataImage
    topic_ids: frozenset[Uuid]


class _Commit(msgspec.Struct, frozen=True):
    image: MetadataImage
    topic_ids: frozenset[Uuid]


class History:
    """Committed images, oldest first; the last one is the present."""

    def __init__(self, image: MetadataImage, images_max: int = IMAGES_MAX) -> None:
        """Begin with the image at the log's end."""
        self._commits = deque([_Commit(image, frozenset())], maxlen=images_max)
        # Topics of which batches spoke that no image shows yet.
        self._touched: set[Uuid] = set()
        self._moved = asyncio.Event()

    @property
    def image(self) -> MetadataImage:
        """The present."""
        return self._commits[-1].image

    def committed(self, batch: Batch, image: MetadataImage) -> None:
        """Take in a batch and the image that holds it, and wake who waits."""
        touched = [getattr(row.payload, "topic_id", None) for row in batch.rows]
        self._touched |= {topic_id for topic_id in touched if topic_id is not None}
        if image.provenance.offset == self.image.provenance.offset:
            return  # a transaction is open: what it holds comes when it ends
        self._commits.append(_Commit(image, frozenset(self._touched)))
        self._touched.clear()
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def image_of(self, offset: int) -> MetadataImage | None:
        """Return the image whose last offset is this one; None when it is not kept."""
        change = self.since(offset)
        return None if change is None else change.before

    def since(self, offset: int) -> Change | None:
        """Return what changed since the image of an offset; None when it is not kept.

        May be asked in any thread.
        """
        touched: set[Uuid] = set()
        commits = self._commits.copy()  # at once, unlike a loop, during which others commit
        for commit in reversed(commits):
            if commit.image.provenance.offset == offset:
                return Change(commit.image, commits[-1].image, frozenset(touched))
            touched |= commit.topic_ids
        return None

    async def beyond(self, offset: int) -> None:
        """Return once the present is past an offset."""
        while self.image.provenance.next_offset <= offset + 1:
            await self._moved.wait()
