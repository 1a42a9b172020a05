"""Times as people say them."""

import datetime
from zoneinfo import ZoneInfo

import pytest

from replay.time_travel.points import absolute_point, check_point_form
from replay.time_travel.spoken_times import MalformedPointError

BERLIN = ZoneInfo("Europe/Berlin")
UTC = datetime.UTC


def ms(text: str) -> int:
    return int(datetime.datetime.fromisoformat(text).timestamp() * 1_000)


REFERENCE = "2026-03-10T09:30:00Z"


@pytest.mark.parametrize(
    ("point", "zone", "time"),
    [
        ("02:00", UTC, "2026-03-10T02:00:00+00:00"),
        ("09:30", UTC, "2026-03-10T09:30:00+00:00"),
        ("09:31", UTC, "2026-03-09T09:31:00+00:00"),
        ("22:15:30.5", UTC, "2026-03-09T22:15:30.500+00:00"),
        # Half past ten there.
        ("10:00", BERLIN, "2026-03-10T10:00:00+01:00"),
        ("10:00Z", BERLIN, "2026-03-09T10:00:00+00:00"),
        ("10:00+01:00", UTC, "2026-03-10T10:00:00+01:00"),
        ("today 02:00", UTC, "2026-03-10T02:00:00+00:00"),
        ("today 14:00", UTC, "2026-03-10T14:00:00+00:00"),
        ("yesterday 14:00", UTC, "2026-03-09T14:00:00+00:00"),
        ("yesterday 02:00", UTC, "2026-03-09T02:00:00+00:00"),
        ("last night", UTC, "2026-03-10T06:00:00+00:00"),
        ("-3h", UTC, "2026-03-10T06:30:00+00:00"),
        ("-1h30m", BERLIN, "2026-03-10T09:00:00+01:00"),
        ("-250ms", UTC, "2026-03-10T09:29:59.750+00:00"),
        ("2026-03-01T10:00", BERLIN, "2026-03-01T10:00:00+01:00"),
    ],
)
def test_they_are_the_last_ones_up_to_the_reference(
    point: str, zone: datetime.tzinfo, time: str
) -> None:
    check_point_form(point)
    assert absolute_point(point, ms(REFERENCE), zone) == time


@pytest.mark.parametrize("at", ["00:30", "05:59", "06:00", "13:00", "21:59", "23:30"])
def test_last_night_is_the_one_before_the_day_of_the_reference(at: str) -> None:
    first, last = (
        absolute_point("last night", ms(f"2026-03-10T{at}Z"), is_first=is_first)
        for is_first in (True, False)
    )
    assert (first, last) == ("2026-03-09T22:00:00+00:00", "2026-03-10T06:00:00+00:00")


@pytest.mark.parametrize("point", ["4107", "start", "end", "now", "3h", "end-2h", "end-100", "-1"])
def test_other_points_stay(point: str) -> None:
    assert absolute_point(point, ms(REFERENCE), BERLIN) == point


@pytest.mark.parametrize("point", ["02:30", "today 02:30", "2026-10-25T02:30"])
def test_a_time_that_was_there_twice_is_refused(point: str) -> None:
    with pytest.raises(MalformedPointError) as refused:
        absolute_point(point, ms("2026-10-25T12:00:00Z"), BERLIN)
    assert str(refused.value) == (
        f"{point!r} may mean two times: clocks in Europe/Berlin showed 2026-10-25T02:30:00 twice; "
        "write 2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00"
    )


def test_a_time_that_never_was_is_refused() -> None:
    with pytest.raises(MalformedPointError, match="did not exist: clocks in Europe/Berlin went ov"):
        absolute_point("yesterday 02:30", ms("2026-03-30T12:00:00Z"), BERLIN)


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ("2:00", "may mean 02:00 or 14:00; write one of them"),
        ("yesterday 2:00:30", "may mean 02:00:30 or 14:00:30"),
        ("2pm", "write the time with 24 hours, such as 14:00"),
        ("12:30 AM", "write the time with 24 hours, such as 00:00"),
        ("yesterday", "is no single time; write one, such as `yesterday 14:00`"),
        ("tonight", "is no single time"),
        ("Last Night", "is not a point; write an offset"),
        ("3/10", "is not a point; write an offset"),
        ("-3", "is not a point"),
        ("-3h ago", "is not a point"),
    ],
)
def test_what_is_nearly_a_point_is_refused_with_what_to_write(point: str, words: str) -> None:
    with pytest.raises(MalformedPointError) as refused:
        check_point_form(point)
    assert words in str(refused.value)
