"""Input of descriptions: an image, its derived index, and the latest heartbeats."""

import msgspec

from controller.decisions.context.cluster_index import ClusterIndex
from controller.decisions.context.context import Settings
from controller.decisions.context.lazy_index import LazyIndex
from controller.decisions.context.sessions import Sessions
from replay.image.metadata import MetadataImage


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a cluster to describe.

    `sessions` is None without an active controller, for example when a log directory is read: lags
    and applied offsets are then unknown. `settings` are those of the controller, or the defaults.
    """

    image: MetadataImage
    lazy_index: LazyIndex
    settings: Settings = Settings()
    sessions: Sessions | None = None

    @classmethod
    def of(cls, image: MetadataImage, settings: Settings | None = None) -> "View":
        """Make a view from an image alone."""
        return cls(image=image, lazy_index=LazyIndex(image), settings=settings or Settings())

    @property
    def index(self) -> ClusterIndex:
        """The image's index, as `LazyIndex.read`.

        Most descriptions, such as those of topics, do not read it.
        """
        return self.lazy_index.read()
