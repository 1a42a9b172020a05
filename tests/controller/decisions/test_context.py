"""The records that one request may make."""

import pytest

from controller.decisions.context.context import (
    USER_OPERATION_RECORDS_MAX,
    RecordList,
    TooLargeError,
)
from records.control import NoteRecord

NOTE = NoteRecord(at_offset=0, author="", text="")


def test_as_many_records_as_a_batch_holds_are_kept_and_no_more() -> None:
    records = RecordList()
    records.add(*[NOTE] * (USER_OPERATION_RECORDS_MAX - 1))
    records.add(NOTE)
    with pytest.raises(TooLargeError):
        records.add(NOTE)
    result = records.result("done")
    assert (len(result.records), result.response) == (10_000, "done")


def test_what_is_only_validated_has_no_records() -> None:
    records = RecordList()
    records.add(NOTE)
    assert records.result("done", validate_only=True).records == ()
