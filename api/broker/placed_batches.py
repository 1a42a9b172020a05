"""The positions of a log's batches in order of offset, for lookups by offset and by leader epoch.

To remove batches, a log replaces its `PlacedBatches` by a new object; to add batches, it appends to
the object. So readers that do not hold the log's lock see consistent states.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from api.broker.batch_places import (
    BatchPlace,
    EpochEnd,
    end_offset_of,
    leader_epoch_of,
    produced_of,
)
from api.broker.producer_states import ProducerStates


class PlacedBatches:
    """The places of a log's batches, ordered by offset.

    Attributes:
        size_bytes: Size of all batches.
        producers: The last batches of each producer, including batches of removed segments.
    """

    def __init__(
        self, places: Iterable[BatchPlace] = (), producers: ProducerStates | None = None
    ) -> None:
        """Create the object.

        Args:
            places: The places of the log's batches, ordered by offset.
            producers: The last batches of each producer; None: determine them from `places`.
        """
        self._places = list(places)
        self.size_bytes = sum([place.size for place in self._places])
        if producers is None:
            producers = ProducerStates(filter(None, map(produced_of, self._places)))
        self.producers = producers

    @property
    def last(self) -> BatchPlace | None:
        """The last batch, None if there is none."""
        tail = self._places[-1:]
        return tail[0] if tail else None

    def add(self, place: BatchPlace) -> None:
        """Add a batch, whose offsets must follow those of the last batch."""
        self._places.append(place)
        self.size_bytes += place.size
        if place.produced is not None:
            self.producers.add(place.produced)

    def between(self, offset: int, up_to: int) -> Iterator[BatchPlace]:
        """Yield the batches that end above `offset`, but not above `up_to`."""
        index = bisect_right(self._places, offset, key=end_offset_of)
        while index < len(self._places) and self._places[index].end_offset <= up_to:
            yield self._places[index]
            index += 1

    def epoch_at(self, offset: int) -> int | None:
        """Return the leader epoch of the batch that contains an offset.

        For an offset beyond the end, return the last batch's epoch. None if there are no batches.
        """
        places = self._places
        found = places[bisect_right(places, offset, key=end_offset_of) :][:1] or places[-1:]
        return found[0].leader_epoch if found else None

    def epoch_end(self, leader_epoch: int) -> EpochEnd | None:
        """Return the highest epoch at or below `leader_epoch` that has records, and its end.

        None if there is no such epoch. The last epoch's end is the log's end.
        """
        places = self._places
        index = bisect_right(places, leader_epoch, key=leader_epoch_of)
        if index == 0:
            return None
        return EpochEnd(places[index - 1].leader_epoch, places[index - 1].end_offset)

    def cut_at(self, offset: int) -> tuple["PlacedBatches", BatchPlace] | None:
        """Return the batches that end at or below `offset`, and the first batch that ends above it.

        None if no batch ends above `offset`.
        """
        keep = len(self._places)
        while keep and self._places[keep - 1].end_offset > offset:
            keep -= 1
        if keep == len(self._places):
            return None
        return PlacedBatches(self._places[:keep]), self._places[keep]

    def without_segments_before(self, segment_base: int) -> "PlacedBatches":
        """Return the batches of segment `segment_base` and of all later segments.

        `producers` still contains batches of the earlier segments.
        """
        kept = [place for place in self._places if place.segment_base >= segment_base]
        return PlacedBatches(kept, self.producers)
