"""Input of descriptions: an image, its derived index, and the latest heartbeats."""

from functools import cached_property

import msgspec

from controller.decisions.context.cluster_index import ClusterIndex
from controller.decisions.context.context import Settings
from controller.decisions.context.sessions import Sessions
from replay.image.metadata import MetadataImage


class View(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The state of a cluster to describe.

    `sessions` is None without an active controller, for example when a log directory is read: lags
    and applied offsets are then unknown. `settings` are those of the controller, or the defaults.
    `known_index` is the image's index, if it is known.
    """

    image: MetadataImage
    known_index: ClusterIndex | None = None
    settings: Settings = Settings()
    sessions: Sessions | None = None

    @classmethod
    def of(cls, image: MetadataImage, settings: Settings | None = None) -> "View":
        """Make a view from an image alone."""
        return cls(image=image, settings=settings or Settings())

    @cached_property
    def index(self) -> ClusterIndex:
        """The image's index; if it is not known, O(partitions) when it is first read.

        Most descriptions, such as those of topics, do not read it.
        """
        return ClusterIndex.of(self.image) if self.known_index is None else self.known_index
