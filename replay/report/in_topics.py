"""Limits the changes in a report to those of some topics and their partitions."""

from collections.abc import Collection, Iterator

from replay.image.metadata import MetadataImage
from replay.report.object_changes import Touched, partitions_of
from replay.time_travel.labels import escaped


class InTopics:
    """Selects the changes of topics with certain names; a topic may get or lose such a name."""

    def __init__(self, topics: Collection[str]) -> None:
        """Select topics by their full names."""
        self._labels = frozenset(map(escaped, topics))

    def has(self, touched: Touched) -> bool:
        """True for a topic whose label is one of the names, and for a partition of such a topic."""
        match touched.kind:
            case "topic":
                return touched.label in self._labels
            case "partition":
                return touched.label.rpartition("/")[0] in self._labels
        return False

    def of(self, touched: Touched, image: MetadataImage) -> Iterator[Touched]:
        """Yield a change of an object in the form for a reader who sees only these topics.

        A topic that gets one of the names counts as new, with its partitions, because the reader
        may not see earlier records. A topic that loses the name counts as gone, with its
        partitions.

        Args:
            image: The image after the record that made the change.
        """
        is_reported, was_reported = self.has(touched), self._was_reported(touched)
        if is_reported and not was_reported:
            yield touched._replace(before=None)
            yield from partitions_of(image, touched.key)
        elif was_reported and not is_reported:
            yield touched._replace(after=None)
            for each in partitions_of(image, touched.key):
                yield each._replace(before=each.after, after=None)
        elif is_reported:
            yield touched

    def _was_reported(self, touched: Touched) -> bool:
        if touched.kind != "topic" or touched.before is None or touched.after is None:
            return self.has(touched)
        return escaped(touched.before["name"]) in self._labels
