"""Values of the options of commands that query: --time-zone, --consistent and --keep-going."""

import datetime
import re
from contextvars import ContextVar

from records.errors import RequestError

ZONE: ContextVar[str] = ContextVar("zone", default="UTC")
"""Value of --time-zone: the time zone of points that are written without one."""

ASSUMED_ZONE: ContextVar[str | None] = ContextVar("assumed_zone", default=None)
"""The zone assumed for a time on the command line, None if each time had its own."""

CONSISTENT: ContextVar[bool] = ContextVar("consistent", default=False)
"""Value of --consistent: a service's answer includes all records committed before the question."""

KEEP_GOING: ContextVar[bool] = ContextVar("keep going", default=False)
"""Value of --keep-going: records that contradict the state before them are skipped."""

_DAY_MINUTES = 24 * 60
_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})")


def zone_of(text: str) -> datetime.tzinfo:
    """Return a time zone: `UTC`, `+02:00`, or a name such as `Europe/Berlin`.

    Raises:
        RequestError: INVALID_REQUEST, the zone is unknown on this machine.
    """
    if text == "UTC":
        return datetime.UTC
    if found := _OFFSET.fullmatch(text):
        minutes = int(found[2]) * 60 + int(found[3])
        if minutes < _DAY_MINUTES:
            return datetime.timezone(datetime.timedelta(minutes=int(found[1] + str(minutes))))
    return _named(text)


def _named(text: str) -> datetime.tzinfo:
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(text)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise RequestError(
            "INVALID_REQUEST",
            f"{text!r} is not a time zone that this machine knows; write UTC, an offset such as "
            "+02:00, or a name such as Europe/Berlin",
        ) from error
