"""The latest state: applying batches before they are written gives the same as reading them."""

import random

from hypothesis import given
from hypothesis import strategies as st

from controller.decisions.context.cluster_index import ClusterIndex
from controller.pipeline.latest import Latest, State
from controller.pipeline.prepared_batch import encode
from controller.results.decided import Decided
from metadata_log.format.batch import Batch
from metadata_log.format.block import encode_ahead
from records.control import NoOpRunRecord
from replay.image.metadata import MetadataImage
from tests.histories import random_history
from tests.samples import drawn


def _decided(batch: Batch) -> Decided:
    return Decided(
        base_offset=batch.base_offset,
        leader_epoch=batch.leader_epoch,
        timestamp=batch.timestamp,
        records=tuple([row.payload for row in batch.rows]),
        versions=[row.record_version for row in batch.rows],
        origin=batch.rows[0].origin,
    )


def _parts(state: State) -> tuple[MetadataImage, ClusterIndex]:
    return state.image, state.index


@drawn(whole=200, part=15)
@given(st.integers(0, 2**32), st.integers(2, 80))
def test_a_batch_applied_before_it_is_written_gives_the_state_of_the_log(
    seed: int, count: int
) -> None:
    read, decided = (Latest(State.of(MetadataImage.EMPTY), 0) for _ in range(2))
    for batch in random_history(random.Random(seed), count):
        own = _decided(batch)
        if own.as_read != batch or NoOpRunRecord in own.types:  # only an import writes it
            assert _parts(decided.apply(batch)) == _parts(read.apply(batch))
            continue
        assert _parts(decided.advance(own)) == _parts(read.apply(batch))
        assert decided.next_offset == read.next_offset
        assert encode(own) == encode_ahead(own.as_read.rows)
