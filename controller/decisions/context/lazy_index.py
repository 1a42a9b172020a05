"""The index of an image, made when it is first read, or before that in turns of the event loop.

Making it takes several times as long as loading a large image, and most questions do not read it.
"""

from controller.decisions.context.cluster_index import ClusterIndex
from controller.results.turns import Turns
from replay.image.metadata import MetadataImage


class IndexBeingMadeError(Exception):
    """Raised by a read of an index that is being made in turns: read it again after the last."""


class LazyIndex:
    """The index of one image.

    Attributes:
        is_being_made: True between the turns in which it is made.

    Invariant: what is read is `ClusterIndex.of` that image, whoever made it and when.
    """

    __slots__ = ("_image", "_made", "is_being_made")

    def __init__(self, image: MetadataImage, made: ClusterIndex | None = None) -> None:
        """Make nothing yet.

        Args:
            made: The index, if it is known.
        """
        self._image = image
        self._made = made
        self.is_being_made = False

    @property
    def is_made(self) -> bool:
        """True if a read takes no time."""
        return self._made is not None

    def read(self) -> ClusterIndex:
        """Return the index; if it is not known, O(partitions).

        Raises:
            IndexBeingMadeError: it is being made in turns.
            CorruptLogError: as `in_turns`.
        """
        if self._made is None:
            if self.is_being_made:
                raise IndexBeingMadeError
            self._made = ClusterIndex.of(self._image)
        return self._made

    def in_turns(self) -> Turns[None]:
        """Make the index, unless it is known.

        Raises:
            CorruptLogError: a topic of a loaded snapshot was written by another release.
        """
        if self._made is None:
            self.is_being_made = True
            try:
                self._made = yield from ClusterIndex.in_turns(self._image)
            finally:
                self.is_being_made = False
