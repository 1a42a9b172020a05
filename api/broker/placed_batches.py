"""The batches of a log in the order of their offsets, and what follows from their places.

A log replaces the whole object to remove batches and appends to it otherwise, so that readers
without the log's lock see consistent states.
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
    """Places of batches.

    Attributes:
        size_bytes: Size of all batches.
        producers: The last batches of each producer, removed segments included.
    """

    def __init__(
        self, places: Iterable[BatchPlace] = (), producers: ProducerStates | None = None
    ) -> None:
        """Start with some places; `producers` None: as those batches say."""
        self._places = list(places)
        self.size_bytes = sum([place.size for place in self._places])
        if producers is None:
            producers = ProducerStates(filter(None, map(produced_of, self._places)))
        self.producers = producers

    @property
    def last(self) -> BatchPlace | None:
        """The last batch."""
        tail = self._places[-1:]
        return tail[0] if tail else None

    def add(self, place: BatchPlace) -> None:
        """Add the next batch."""
        self._places.append(place)
        self.size_bytes += place.size
        if place.produced is not None:
            self.producers.add(place.produced)

    def between(self, offset: int, up_to: int) -> Iterator[BatchPlace]:
        """Yield the batches from the one that holds `offset`, as far as they end by `up_to`."""
        index = bisect_right(self._places, offset, key=end_offset_of)
        while index < len(self._places) and self._places[index].end_offset <= up_to:
            yield self._places[index]
            index += 1

    def epoch_at(self, offset: int) -> int | None:
        """Return the leader epoch of an offset's batch; behind the end, the last batch's.

        None if there is no batch.
        """
        places = self._places
        found = places[bisect_right(places, offset, key=end_offset_of) :][:1] or places[-1:]
        return found[0].leader_epoch if found else None

    def epoch_end(self, leader_epoch: int) -> EpochEnd | None:
        """Return the highest epoch at or below `leader_epoch` and its end; None if there is none.

        Epochs without records do not count; the last epoch ends with the log.
        """
        places = self._places
        index = bisect_right(places, leader_epoch, key=leader_epoch_of)
        if index == 0:
            return None
        return EpochEnd(places[index - 1].leader_epoch, places[index - 1].end_offset)

    def cut_at(self, offset: int) -> tuple["PlacedBatches", BatchPlace] | None:
        """Return the batches that end by `offset`, and the first other one; None if all do."""
        keep = len(self._places)
        while keep and self._places[keep - 1].end_offset > offset:
            keep -= 1
        if keep == len(self._places):
            return None
        return PlacedBatches(self._places[:keep]), self._places[keep]

    def without_segments_before(self, segment_base: int) -> "PlacedBatches":
        """Return the batches of a segment and the later ones; producers stay known."""
        kept = [place for place in self._places if place.segment_base >= segment_base]
        return PlacedBatches(kept, self.producers)
