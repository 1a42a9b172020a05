"""Filters that Spark pushes down leave out work, and no row that they keep."""

import datetime
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from metadata_log.reader.log_reader import LogReader
from tests.metadata_log.test_mirror import level, mirror, row
from tests.replay.audit.source.reading import read

pytestmark = pytest.mark.spark

COMPARED: dict[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: operator.eq,
    EqualNullSafe: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
    In: lambda value, some: value in some,
}


def keeps(each: Filter, found: dict[str, Any]) -> bool:
    return COMPARED[type(each)](found[each.attribute[0]], each.value)


def check(log: Path, filters: tuple[Filter, ...], **options: str) -> tuple[int, int]:
    """Check that no row is lost; return how many were read, and how many the filters keep."""
    everything = read(log, **options).to_pylist()
    found = read(log, *filters, **options).to_pylist()
    kept = [row for row in everything if all(keeps(each, row) for each in filters)]
    again = [row for row in found if all(keeps(each, row) for each in filters)]
    assert sorted(map(repr, again)) == sorted(map(repr, kept))
    return len(found), len(kept)


@pytest.mark.parametrize("kind", [each for each in COMPARED if each is not In])
def test_comparisons_bound_what_is_read(demo_log: Path, kind: type[Any]) -> None:
    (middle,) = read(demo_log, since="543", until="543").to_pylist()
    for column in ("offset", "timestamp", "time"):
        read_rows, kept = check(demo_log, (kind((column,), middle[column]),))
        # Times of several records are equal, and times of Spark have microseconds.
        assert 0 < kept <= read_rows <= kept + 1, (kind, column)


def test_time_between_two_milliseconds_is_no_bound_too_tight(demo_log: Path) -> None:
    (middle,) = read(demo_log, since="543", until="543").to_pylist()
    for us in (-1, 1):
        between = middle["time"] + datetime.timedelta(microseconds=us)
        for kind in (GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual):
            read_rows, kept = check(demo_log, (kind(("time",), between),))
            assert kept <= read_rows <= kept + 1


def test_types_and_kinds_that_are_not_asked_for_are_not_returned(demo_log: Path) -> None:
    topics = (EqualTo(("type",), "TopicRecord"),)
    assert check(demo_log, topics) == (44, 44)
    both = (In(("type",), ("TopicRecord", "ConfigRecord")), GreaterThan(("offset",), 600))
    read_rows, kept = check(demo_log, both)
    assert read_rows == kept
    read_rows, kept = check(demo_log, (EqualTo(("kind",), "configs"),), relation="changes")
    assert read_rows == kept
    late = (GreaterThanOrEqual(("offset",), 900), In(("kind",), ("topics", "partitions")))
    read_rows, kept = check(demo_log, late, relation="changes")
    assert 0 < kept <= read_rows < read(demo_log, relation="changes").num_rows


def test_rows_that_stand_for_several_records_are_not_bounded(demo_log: Path) -> None:
    """The offset of a net change is that of the last one; a bound would change the others."""
    check(demo_log, (GreaterThan(("offset",), 900),), relation="net_changes")
    check(demo_log, (LessThan(("offset",), 900),), relation="changes")


def test_other_filters_are_left_to_spark(demo_log: Path) -> None:
    others = (
        Not(EqualTo(("type",), "TopicRecord")),
        IsNotNull(("offset",)),
        StringStartsWith(("principal",), "User:"),
        EqualTo(("principal",), "User:bob"),
    )
    assert read(demo_log, *others) == read(demo_log)


def test_times_that_go_back_in_a_mirror_lose_no_row(tmp_path: Path) -> None:
    times = (1_000, 5_000, 2_000, 6_000)
    rows = [(row(at, ms, level(at + 1)), at + 1) for at, ms in enumerate(times)]
    log = mirror(tmp_path / "mirror", rows, confirmed_end=4)
    for kind in (GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual, EqualTo):
        for ms in (500, 1_000, 2_000, 5_000, 6_000, 9_000):
            check(log, (kind(("timestamp",), ms),))


def test_a_range_of_a_long_log_is_found_by_its_index(
    demo_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first batch that is decoded is the one with the first offset."""
    begun: list[int] = []
    batches = LogReader.batches

    def noted(self: LogReader, first: int = 0, end: int | None = None) -> Any:
        begun.append(first)
        return batches(self, first, end)

    monkeypatch.setattr(LogReader, "batches", noted)
    bounds = (GreaterThanOrEqual(("offset",), 900), LessThan(("offset",), 910))
    assert read(demo_log, *bounds).num_rows <= 11
    assert begun == [900]
