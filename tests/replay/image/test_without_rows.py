"""Replay of records without their rows, as in raw appends."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.format.batch import Batch
from records.control import NoteRecord
from records.envelope import Origin
from records.errors import ContradictionError, RecordPlace
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.image.rules import NEED_ROWS
from tests.histories import random_history
from tests.replay.builders import change
from tests.samples import drawn


def _after(image: MetadataImage, of: Batch, *, with_rows: bool) -> MetadataImage:
    delta = MetadataDelta(image)
    if with_rows:
        delta.replay_all(of.rows)
    else:
        records = [row.payload for row in of.rows]
        delta.replay_records(records, of.base_offset, of.timestamp, None)
    return delta.apply(
        Provenance(offset=of.end_offset - 1, leader_epoch=of.leader_epoch, timestamp=of.timestamp)
    )


@drawn(whole=300, part=20)
@given(st.integers(0, 2**32), st.integers(20, 100))
def test_records_without_their_rows_give_the_same_image(seed: int, count: int) -> None:
    image, compared = MetadataImage.EMPTY, 0
    for each in random_history(random.Random(seed), count):
        try:
            after = _after(image, each, with_rows=True)
        except ContradictionError:  # a marker, or a record of an aborted transaction
            continue
        if NEED_ROWS.isdisjoint({type(row.payload) for row in each.rows}):
            assert _after(image, each, with_rows=False) == after
            compared += 1
        image = after
    assert compared


def test_a_contradiction_names_the_record_at_its_offset() -> None:
    origin = Origin(principal="User:alice")
    note = NoteRecord(at_offset=0, author="alice", text="here it began")
    records = [note, change("gone", 0, leader=1), note]
    with pytest.raises(ContradictionError, match="there is no topic") as found:
        MetadataDelta(MetadataImage.EMPTY).replay_records(records, 7, 1_000, origin)
    assert found.value.record == RecordPlace(8, "PartitionChangeRecord", 1_000, origin)
