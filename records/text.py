"""Text forms of ids, bytes, times and durations, the same in all output of the project."""

import base64
import datetime

from records.base import Uuid


def uuid_text(value: bytes) -> str:
    """Return an id as 22 characters of URL-safe base64, the form Kafka prints."""
    return bytes_text(value)[:22]


def parse_uuid(text: str) -> Uuid:
    """Read an id from its 22-character form.

    Raises:
        ValueError: `text` is not 22 characters of URL-safe base64.
    """
    try:
        value = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except ValueError as error:
        raise ValueError(f"{text!r} is not an id of 22 base64url characters") from error
    if len(value) != 16 or uuid_text(value) != text:
        raise ValueError(f"{text!r} is not an id of 22 base64url characters")
    return Uuid(value)


def bytes_text(value: bytes) -> str:
    """Return bytes as URL-safe base64, with padding."""
    return base64.urlsafe_b64encode(value).decode("ascii")


def parse_bytes(text: str) -> bytes:
    """Read bytes from their base64 form.

    Raises:
        ValueError: `text` is not base64.
    """
    try:
        return base64.b64decode(text, altchars=b"-_", validate=True)
    except ValueError as error:
        raise ValueError("the value is not base64") from error  # it may be a secret


def duration_text(duration_ms: int) -> str:
    """Return a duration in its two largest units: `2 d 3 h`, `1 min 5 s`, `9.3 s`."""
    if duration_ms < 60_000:
        return f"{duration_ms / 1_000:.3f}".rstrip("0").rstrip(".") + " s"
    rest = duration_ms // 1_000
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        count, rest = divmod(rest, size)
        if count or parts:
            parts.append(f"{count} {unit}")
    return " ".join(part for part in parts[:2] if not part.startswith("0 "))


def time_text(timestamp_ms: int) -> str:
    """Return a time as text (RFC 3339), in UTC with milliseconds."""
    try:
        time = datetime.datetime.fromtimestamp(timestamp_ms / 1_000, datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms} ms"
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
