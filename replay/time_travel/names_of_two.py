"""Names for the objects of an image that is compared with another one."""

from typing import Any, cast

from records.base import Uuid
from replay.image.metadata import MetadataImage
from replay.time_travel.kinds import Key, Kind
from replay.time_travel.labels import partition_label, topic_key, topic_label


class Names:
    """Names the objects of one image: by their label, or by their id if that is ambiguous.

    A label is ambiguous if it means another object in the other image.
    """

    def __init__(self, image: MetadataImage, other: MetadataImage) -> None:
        """Name the objects of `image`, which is compared with `other`."""
        self._image = image
        self._other = other
        # Topics have many partitions: the label of each topic, and what it means in `other`.
        self._topics: dict[Uuid, tuple[str, Uuid | None]] = {}

    def of(self, kind: Kind, key: Key) -> str:
        """Return the name of an object of the image."""
        if kind.name == "partition":
            return self._partition(*cast(tuple[Uuid, int], key))
        label = kind.label(self._image, key)
        if not kind.is_renamed or self._found(kind, label) in (None, key):
            return label
        # An image without the object names it by its id.
        return kind.label(MetadataImage.EMPTY, key)

    def _found(self, kind: Kind, label: str) -> Any:
        """Return the key of the other object with a label, None if there is none.

        A log may contain names that Kafka never writes, and that are no valid labels.
        """
        try:
            return kind.find(self._other, label)
        except ValueError:
            return None

    def _partition(self, topic_id: Uuid, partition_id: int) -> str:
        known = self._topics.get(topic_id)
        if known is None:
            known = self._topics[topic_id] = self._topic(topic_id)
        label, meant = known
        if meant in (None, topic_id) or self._other.partition(meant, partition_id) is None:
            return f"{label}/{partition_id}"
        return partition_label(MetadataImage.EMPTY, (topic_id, partition_id))

    def _topic(self, topic_id: Uuid) -> tuple[str, Uuid | None]:
        label = topic_label(self._image, topic_id)
        try:
            return label, cast(Uuid | None, topic_key(self._other, label))
        except ValueError:
            return label, None
