"""Interfaces through which a timeline reads snapshots, and the default name of their database."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from replay.image.metadata import MetadataImage
from replay.time_travel.past_topics import PastTopics

if TYPE_CHECKING:
    from replay.snapshot.info import SnapshotInfo

SNAPSHOTS_NAME = "snapshots.db"
"""The default database of snapshots, in the log directory."""


@runtime_checkable
class ReadableTopics(Protocol):
    """Snapshots from which single topics can be read."""

    def topics(self, accept: "Callable[[SnapshotInfo], bool]") -> PastTopics:
        """Return an object that reads single topics from the accepted snapshots."""


class Snapshots(Protocol):
    """Stored images that replay can start from."""

    def newest_first(self) -> "Sequence[SnapshotInfo]":
        """Return the descriptions of the snapshots, without loading them."""

    def load_newest(
        self, at: int | None = None, *, accept: "Callable[[SnapshotInfo], bool]" = ...
    ) -> MetadataImage | None:
        """Return the newest image that can be loaded and is accepted, None if there is none.

        Args:
            at: Last offset that the image may contain, inclusive; None means no limit.
            accept: Called for each snapshot, newest first; returns True if the snapshot may be
                used.
        """
