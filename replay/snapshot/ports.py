"""What reads images at rest: the port that a timeline uses, and where a log keeps its own."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from replay.image.metadata import MetadataImage

if TYPE_CHECKING:
    from replay.snapshot.info import SnapshotInfo

SNAPSHOTS_NAME = "snapshots.db"
"""The database in a log directory that holds its snapshots, unless another one is named."""


class Snapshots(Protocol):
    """Images at rest that replay can start from."""

    def newest_first(self) -> "Sequence[SnapshotInfo]":
        """Return what is known of each snapshot, without loading it."""

    def load_newest(
        self, at: int | None = None, *, accept: "Callable[[SnapshotInfo], bool]" = ...
    ) -> MetadataImage | None:
        """Return the newest image that can be loaded and is accepted, None if there is none.

        Args:
            at: Last offset that the image may contain, inclusive; None is no limit.
            accept: Called from the newest snapshot to the oldest; True if it may be used.
        """
