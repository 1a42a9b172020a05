"""The last images of a running service, and the topics that changed between them.

A follower that has the image of an offset gets the changes since; if that offset is no longer kept
or was never an image's, it needs a full update.
"""

import asyncio
from collections import deque

import msgspec

from metadata_log.batch import Batch
from records.base import Uuid
from replay.image.metadata import MetadataImage

IMAGES_MAX = 1_000
"""How many images are kept. They share nearly everything; each takes some kilobytes."""


class Change(msgspec.Struct, frozen=True):
    """Two images, and the topics named in records between them."""

    before: MetadataImage
    after: MetadataImage
    topic_ids: frozenset[Uuid]


class _Commit(msgspec.Struct, frozen=True):
    image: MetadataImage
    topic_ids: frozenset[Uuid]


class History:
    """Committed images, oldest first; the last one is current."""

    def __init__(self, image: MetadataImage, images_max: int = IMAGES_MAX) -> None:
        """Start with the image at the log's end."""
        self._commits = deque([_Commit(image, frozenset())], maxlen=images_max)
        # Topics named in batches that no image includes yet.
        self._touched: set[Uuid] = set()
        self._moved = asyncio.Event()

    @property
    def image(self) -> MetadataImage:
        """The current image."""
        return self._commits[-1].image

    def committed(self, batch: Batch, image: MetadataImage) -> None:
        """Add a batch and the image that includes it, and wake waiting followers."""
        touched = [getattr(row.payload, "topic_id", None) for row in batch.rows]
        self._touched |= {topic_id for topic_id in touched if topic_id is not None}
        if image.provenance.offset == self.image.provenance.offset:
            return  # a transaction is open: its changes come when it ends
        self._commits.append(_Commit(image, frozenset(self._touched)))
        self._touched.clear()
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def since(self, offset: int) -> Change | None:
        """Return the changes since the image of an offset; None if it is not kept.

        Thread-safe.
        """
        touched: set[Uuid] = set()
        commits = self._commits.copy()  # atomic, unlike a loop, during which others commit
        for commit in reversed(commits):
            if commit.image.provenance.offset == offset:
                return Change(commit.image, commits[-1].image, frozenset(touched))
            touched |= commit.topic_ids
        return None

    async def beyond(self, offset: int) -> None:
        """Return once the current image is past an offset."""
        while self.image.provenance.next_offset <= offset + 1:
            await self._moved.wait()
