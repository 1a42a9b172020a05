"""Input of descriptions: an image, its derived index, and the latest heartbeats."""

import msgspec

from controller.decisions.context.cluster_index import ClusterIndex
from controller.decisions.context.context import Settings
from controller.decisions.context.sessions import Sessions
from replay.image.metadata import MetadataImage


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a cluster to describe.

    `sessions` is None without an active controller, for example when a log directory is read: lags
    and applied offsets are then unknown. `settings` are those of the controller, or the defaults.
    """

    image: MetadataImage
    index: ClusterIndex
    settings: Settings = Settings()
    sessions: Sessions | None = None

    @classmethod
    def of(cls, image: MetadataImage, settings: Settings | None = None) -> "View":
        """Make a view from an image alone: O(partitions)."""
        return cls(image=image, index=ClusterIndex.of(image), settings=settings or Settings())
