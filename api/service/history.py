"""The last images of a running service, and the topics, ACLs and configs that they changed.

A follower whose last image is still kept gets the changes since then. If it is no longer kept, or
the follower's offset was never the end of an image, a full update is needed.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Set
from operator import attrgetter
from typing import Any

import msgspec

from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.registry import types_with
from records.security import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from replay.image.configs import ConfigResource
from replay.image.metadata import MetadataImage

IMAGES_MAX = 1_000
"""Number of images kept. Images share nearly all objects, so each takes some kilobytes."""

_ABOUT_TOPICS = types_with("topic_id")
_ABOUT_ACLS = frozenset({AccessControlEntryRecord, RemoveAccessControlEntryRecord})
_FOLLOWED = _ABOUT_TOPICS | _ABOUT_ACLS | {ConfigRecord}
_topic_id: Callable[[Any], Uuid] = attrgetter("topic_id")
_acl_id: Callable[[Any], Uuid] = attrgetter("id")


class Change(msgspec.Struct, frozen=True):
    """Two images, and the topics, ACLs and config resources in the records between them."""

    before: MetadataImage
    after: MetadataImage
    topic_ids: frozenset[Uuid]
    acl_ids: frozenset[Uuid] = frozenset()
    config_resources: frozenset[ConfigResource] = frozenset()


class _Commit(msgspec.Struct, frozen=True):
    image: MetadataImage
    topic_ids: frozenset[Uuid] = frozenset()
    acl_ids: frozenset[Uuid] = frozenset()
    config_resources: frozenset[ConfigResource] = frozenset()


class History:
    """Committed images, oldest first; the last one is current."""

    def __init__(self, image: MetadataImage, images_max: int = IMAGES_MAX) -> None:
        """Start with the image at the log's end."""
        self._commits = deque([_Commit(image)], maxlen=images_max)
        # What is named in batches that no image includes yet.
        self._topic_ids: set[Uuid] = set()
        self._acl_ids: set[Uuid] = set()
        self._config_resources: set[ConfigResource] = set()
        self._moved = asyncio.Event()

    @property
    def image(self) -> MetadataImage:
        """The current image."""
        return self._commits[-1].image

    def committed(
        self, types: Set[type[Record]], records: Iterable[Record], image: MetadataImage
    ) -> None:
        """Add a batch and the image that includes it, and wake waiting followers.

        Args:
            types: The types of the batch's records.
        """
        if not types.isdisjoint(_FOLLOWED):
            for record in records:
                if type(record) in _FOLLOWED:
                    self._touch(record)
        if image.provenance.offset == self.image.provenance.offset:
            return  # a transaction is open: its changes come when it ends
        self._commits.append(
            _Commit(
                image,
                frozenset(self._topic_ids),
                frozenset(self._acl_ids),
                frozenset(self._config_resources),
            )
        )
        self._topic_ids.clear()
        self._acl_ids.clear()
        self._config_resources.clear()
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def _touch(self, record: Record) -> None:
        if isinstance(record, ConfigRecord):
            self._config_resources.add((record.resource_type, record.resource_name))
        elif type(record) in _ABOUT_ACLS:
            self._acl_ids.add(_acl_id(record))
        else:
            self._topic_ids.add(_topic_id(record))

    def since(self, offset: int) -> Change | None:
        """Return the changes since the image at an offset; None if that image is not kept.

        Thread-safe.
        """
        topic_ids: set[Uuid] = set()
        acl_ids: set[Uuid] = set()
        resources: set[ConfigResource] = set()
        commits = self._commits.copy()  # atomic, unlike a loop, during which others commit
        for commit in reversed(commits):
            if commit.image.provenance.offset == offset:
                return Change(
                    commit.image,
                    commits[-1].image,
                    frozenset(topic_ids),
                    frozenset(acl_ids),
                    frozenset(resources),
                )
            topic_ids |= commit.topic_ids
            acl_ids |= commit.acl_ids
            resources |= commit.config_resources
        return None

    async def beyond(self, offset: int) -> None:
        """Wait until the current image is past an offset."""
        while self.image.provenance.next_offset <= offset + 1:
            await self._moved.wait()
