"""Points in time in all forms that users can write."""

import datetime

import pytest

from records.errors import RequestError, UnknownHistoryError
from replay.time_travel.points import (
    check_point_form,
    is_zoneless,
    resolve_first,
    resolve_point,
)


class Times:
    """A log of offsets 5 to 9; offset n has the time n seconds."""

    history_start = 5
    end_offset = 10

    def last_offset_at(self, timestamp: int) -> int:
        return min(max(timestamp // 1_000, 4), 9)

    def first_offset_at(self, timestamp: int) -> int:
        return self.last_offset_at(timestamp - 1) + 1

    def end_timestamp(self) -> int:
        return 9_000


NOW_MS = 10_000


@pytest.mark.parametrize(
    ("point", "offset"),
    [
        ("start", 4),
        ("end", 9),
        ("7", 7),
        ("1970-01-01T00:00:06Z", 6),
        ("1970-01-01T00:00:06.999+00:00", 6),
        ("1970-01-01T02:00:08+02:00", 8),
        ("3s", 7),
        ("2500ms", 7),
        ("10m", 4),
        ("1s1500ms", 7),
        ("0h0m3s", 7),
        ("99999999999999999999d", 4),
        ("007", 7),
        ("2h", 4),
        ("7d", 4),
        ("1w", 4),
        ("now", 9),
        ("1970-01-01T00:00:06", 6),
        ("1970-01-01", 4),
        ("end-0", 9),
        ("end-2", 7),
        ("end-2s", 7),
        ("end-1s1000ms", 7),
        ("end-1h30m", 4),
        ("end-1ms", 8),
        ("end-24h", 4),
        ("end-99", 0),
        ("-1", -1),
    ],
)
def test_point_is_the_last_offset_applied(point: str, offset: int) -> None:
    assert resolve_point(Times(), point, NOW_MS) == offset


@pytest.mark.parametrize(
    ("point", "first"),
    [
        ("start", 4),
        ("end", 9),
        ("7", 7),
        ("1970-01-01T00:00:06Z", 6),
        ("1970-01-01T00:00:06.001Z", 7),
        ("1970-01-01T00:00:06.999Z", 7),
        ("2500ms", 8),
        ("3s", 7),
        ("10m", 5),
        ("now", 10),
        ("end-0", 9),
        ("end-2", 7),
        ("end-2s", 7),
        ("end-1ms", 9),
        ("end-24h", 5),
    ],
)
def test_range_begins_at_an_offset_or_at_the_first_record_at_or_after_a_time(
    point: str, first: int
) -> None:
    assert resolve_first(Times(), point, NOW_MS) == first


class Kept(Times):
    """The same log after its first records were dropped; the time of the base is second 4."""

    def last_offset_at(self, timestamp: int) -> int:
        if timestamp < 4_000:
            raise UnknownHistoryError("not kept")
        return super().last_offset_at(timestamp)


def test_range_can_begin_with_the_kept_history_but_not_before_it() -> None:
    assert resolve_first(Kept(), "1970-01-01T00:00:04Z", NOW_MS) == 5
    with pytest.raises(UnknownHistoryError):
        resolve_first(Kept(), "1970-01-01T00:00:03Z", NOW_MS)


class Echo(Times):
    """A log that answers with the time that it was asked for."""

    def last_offset_at(self, timestamp: int) -> int:
        return timestamp


@pytest.mark.parametrize(
    ("age", "milliseconds"),
    [
        ("1ms", 1),
        ("1s", 1_000),
        ("1m", 60 * 1_000),
        ("1h", 60 * 60 * 1_000),
        ("1d", 24 * 60 * 60 * 1_000),
        ("7d", 7 * 24 * 60 * 60 * 1_000),
        ("90m", 90 * 60 * 1_000),
    ],
)
def test_age_counts_back_from_now_in_its_unit(age: str, milliseconds: int) -> None:
    now_ms = 1_700_000_000_123
    assert resolve_point(Echo(), age, now_ms) == now_ms - milliseconds


@pytest.mark.parametrize(
    "point",
    [
        *("monday", "-2", "10 m", "", "²", "٣", "٣m", "1_0", "9" * 5_000),
        *("end-", "end-2y", "end+1", "end--1", "1y", "0001-01-01T00:00:00+25:00"),
    ],
)
def test_what_is_no_point_is_refused_with_the_ways_to_write_one(point: str) -> None:
    with pytest.raises(RequestError, match="RFC 3339"):
        resolve_point(Times(), point, NOW_MS)


@pytest.mark.parametrize("point", ["10", "9" * 30])
def test_offset_past_the_end_is_refused(point: str) -> None:
    with pytest.raises(RequestError, match="past the end: the log ends at 10") as refused:
        resolve_point(Times(), point, NOW_MS)
    assert refused.value.code == "OFFSET_OUT_OF_RANGE"


def test_time_without_a_zone_is_read_in_the_zone_given() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    assert resolve_point(Times(), "1970-01-01T02:00:08", NOW_MS, zone) == 8
    assert resolve_point(Times(), "1970-01-01T00:00:08Z", NOW_MS, zone) == 8
    assert is_zoneless("1970-01-01T02:00:08")
    assert not is_zoneless("1970-01-01T00:00:08Z")
    assert not is_zoneless("end")


def test_what_is_counted_back_beyond_a_whole_log_is_its_start() -> None:
    class Whole(Times):
        start_offset = history_start = 0

    assert resolve_point(Whole(), "end-99", NOW_MS) == -1


@pytest.mark.parametrize(
    "point",
    [
        "7",
        "-1",
        "start",
        "end",
        "now",
        "3h",
        "end-2",
        "end-2h",
        "1970-01-01",
        "20260101",
        "02:00",
        "-3h",
    ],
)
def test_form_of_a_point_is_checked_without_a_log(point: str) -> None:
    check_point_form(point)
