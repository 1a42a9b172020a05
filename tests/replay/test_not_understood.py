"""Every answer reports how many records this release did not understand, and the first of them."""

import msgspec
import pytest

from metadata_log.format.batch import Batch
from records.base import Record
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    UnknownRecord,
)
from records.envelope import Extra, UnknownTag
from replay.image.metadata import MetadataImage
from replay.image.provenance import NotUnderstood
from replay.loader import load_image
from replay.not_understood import unknown_kinds
from tests.replay.builders import Base, FakeLog, batch, batches, image_after, topic

OF_THE_FUTURE = UnknownRecord(api_key=99, record_version=0, value=b"\1\x63\0?")
TAGGED = Extra(unknown_tags=(UnknownTag(path="", tag=9, value=b"?"),))


def tagged(base_offset: int, record: Record) -> Batch:
    """Return a batch of one record with a tagged field that this release does not know."""
    (row,) = batch(base_offset, record).rows
    return Batch.of([msgspec.structs.replace(row, extra=TAGGED)])


def count_of(image: MetadataImage) -> tuple[int, int | None] | None:
    found = image.provenance.not_understood
    return None if found is None else (found.records, found.first_offset)


def test_unknown_records_and_tags_are_counted_from_the_first_on() -> None:
    log = [*batches([topic("t"), topic("u")], [OF_THE_FUTURE]), tagged(3, topic("v"))]
    assert [count_of(image_after(log[:n])) for n in (1, 2, 3)] == [None, (1, 2), (2, 2)]


def test_count_goes_on_from_an_image() -> None:
    first = image_after(batches([OF_THE_FUTURE]))
    later = image_after([batch(1, OF_THE_FUTURE)], start=first)
    assert (count_of(later), count_of(first)) == ((2, 0), (1, 0))


def test_bytes_that_are_kept_for_another_reason_count_as_understood() -> None:
    (row,) = batch(0, topic("t")).rows
    row = msgspec.structs.replace(row, extra=Extra(raw_record=b"?"))
    assert count_of(image_after([Batch.of([row])])) is None


@pytest.mark.parametrize(
    ("end", "counted"), [(EndTransactionRecord(), (1, 1)), (AbortTransactionRecord(), None)]
)
def test_record_of_a_transaction_counts_when_it_takes_effect(
    end: Record, counted: tuple[int, int] | None
) -> None:
    log = FakeLog(batches([BeginTransactionRecord(), OF_THE_FUTURE], [end]))
    assert count_of(load_image(log, 1)) is None
    assert count_of(load_image(log)) == counted


def test_what_a_base_holds_lies_before_the_kept_history() -> None:
    log = FakeLog([batch(5, OF_THE_FUTURE)], Base(5, (OF_THE_FUTURE,)))
    assert load_image(log, 4).provenance.not_understood == NotUnderstood(1, None)
    assert count_of(load_image(log)) == (2, None)


@pytest.mark.parametrize("end", [EndTransactionRecord(), AbortTransactionRecord()])
def test_unknown_tags_of_a_transactions_markers_count_when_it_is_closed(end: Record) -> None:
    log = FakeLog([batch(0, topic("t")), tagged(1, BeginTransactionRecord()), tagged(2, end)])
    assert [count_of(load_image(log, at)) for at in range(3)] == [None, None, (2, 1)]
    found = [(each.type, each.records, each.first_offset) for each in unknown_kinds(log, 2)]
    assert found == [("BeginTransactionRecord", 1, 1), (type(end).__name__, 1, 2)]


def test_unknown_control_record_counts_though_its_transaction_is_aborted() -> None:
    unknown = UnknownRecord(api_key=99, record_version=0, value=b"?", control_key=b"\0\0\0\x63")
    aborted = [BeginTransactionRecord(), unknown, OF_THE_FUTURE, AbortTransactionRecord()]
    assert count_of(image_after(batches(aborted))) == (1, 1)
