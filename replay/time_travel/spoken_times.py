"""Times and ages as people say them: `02:00`, `yesterday 14:00`, `last night`, `-3h`, `10m`.

Times are counted from a reference time: now for a log that is being written, else the time of the
log's end, as for a copy of last year's log. A text that could mean two times is refused.
"""

import datetime
import re

from records.errors import RequestError

# ASCII digits, of bounded length: int() also takes other digits, and rejects more than 4,300.
NUMBER = "[0-9]{1,4000}"

AGE = re.compile(f"(?:{NUMBER}(?:ms|s|m|h|d|w))+")

_PART = re.compile(f"({NUMBER})(ms|s|m|h|d|w)")
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}

_BACK = re.compile(f"-({AGE.pattern})")
_TIME = r"\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})?"
_DAY = re.compile(f"(?:(today|yesterday) )?({_TIME})", re.ASCII)
_NIGHT = "last night"
_NIGHT_BEGINS, _NIGHT_ENDS = datetime.time(22), datetime.time(6)

_HALF_DAY = re.compile(r"(?:(?:today|yesterday) )?(\d{1,2})(?::\d{2})* ?([ap]m)", re.IGNORECASE)
_ONE_DIGIT = re.compile(r"(?:(?:today|yesterday) )?(\d)(:\d{2}(?::\d{2})?)")
_ONLY_A_DAY = ("today", "yesterday", "tonight")

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class MalformedPointError(RequestError):
    """The text is not a point in any log; the command line reports it as wrong usage."""

    def __init__(self, message: str) -> None:
        super().__init__("INVALID_REQUEST", message)


def age_ms(age: str) -> int:
    """Return an age that matches AGE, such as `10m`, `1h30m` or `1w`, in ms."""
    return sum(int(count) * _UNIT_MS[unit] for count, unit in _PART.findall(age))


def is_spoken(point: str) -> bool:
    """True if a point is a time counted from a reference time, such as `02:00` or `-3h`."""
    return point == _NIGHT or bool(_BACK.fullmatch(point) or _DAY.fullmatch(point))


def spoken_time(
    point: str, reference_ms: int, zone: datetime.tzinfo, *, is_first: bool
) -> datetime.datetime:
    """Return the time that a point means: the latest such time not after the reference time.

    Args:
        point: A point for which `is_spoken` is true.
        reference_ms: The time from which the point is counted, ms since 1970.
        is_first: True for the beginning of a range: `last night` begins at 22:00, ends at 06:00.

    Raises:
        MalformedPointError: the time of day does not exist, or the clocks showed it twice on that
            day.
    """
    reference = (_EPOCH + datetime.timedelta(milliseconds=reference_ms)).astimezone(zone)
    if found := _BACK.fullmatch(point):
        return reference - datetime.timedelta(milliseconds=age_ms(found[1]))
    if point == _NIGHT:
        day = reference.date() - datetime.timedelta(days=is_first)
        time = _NIGHT_BEGINS if is_first else _NIGHT_ENDS
        return in_zone(point, datetime.datetime.combine(day, time), zone)
    found = _DAY.fullmatch(point)
    assert found is not None, "the caller has checked it"
    try:
        time = datetime.time.fromisoformat(found[2])
    except ValueError as error:
        raise MalformedPointError(f"{point!r} is not a point: {error}") from error
    if time.tzinfo is not None:
        zone, time = time.tzinfo, time.replace(tzinfo=None)
        reference = reference.astimezone(zone)
    is_before = found[1] == "yesterday" or (found[1] is None and time > reference.time())
    day = reference.date() - datetime.timedelta(days=is_before)
    return in_zone(point, datetime.datetime.combine(day, time), zone)


def in_zone(point: str, local: datetime.datetime, zone: datetime.tzinfo) -> datetime.datetime:
    """Return a local time with its zone.

    Raises:
        MalformedPointError: the clocks of the zone never showed this time, or showed it twice.
    """
    first, second = (local.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return first
    # Source: PEP 495: in a gap, the offset of fold 0 is the one before it, which is smaller.
    offsets = first.utcoffset(), second.utcoffset()
    assert offsets[0] is not None and offsets[1] is not None, "the zone is given"
    if offsets[0] < offsets[1]:
        raise MalformedPointError(
            f"{point!r} did not exist: clocks in {zone} went over {local.isoformat()}; write a "
            "time before or after"
        )
    raise MalformedPointError(
        f"{point!r} may mean two times: clocks in {zone} showed {local.isoformat()} twice; write "
        f"{first.isoformat()} or {second.isoformat()}"
    )


def check_not_ambiguous(text: str) -> None:
    """Raise an error for a text such as `2pm` or `today`, which is close to a point but is not one.

    Raises:
        MalformedPointError: the text is one of these; the message says what to write instead.
    """
    if text in _ONLY_A_DAY:
        raise MalformedPointError(
            f"{text!r} is no single time; write one, such as `yesterday 14:00`, or `last night`, "
            "which is from 22:00 to 06:00"
        )
    if found := _HALF_DAY.fullmatch(text):
        hour = int(found[1]) % 12 + (12 if found[2].lower() == "pm" else 0)
        raise MalformedPointError(
            f"{text!r} is not a point; write the time with 24 hours, such as {hour:02}:00"
        )
    if found := _ONE_DIGIT.fullmatch(text):
        hour = int(found[1])
        raise MalformedPointError(
            f"{text!r} may mean {hour:02}{found[2]} or {hour + 12}{found[2]}; write one of them"
        )
