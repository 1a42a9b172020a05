"""The digest of docs/digest.md, computed in Spark's workers."""

import hashlib

from replay.audit.fold.texts import ALWAYS_LISTED
from replay.audit.history import History
from replay.audit.state import sums


def base64_text(value: str) -> str:
    """Return SQL that encodes bytes as URL-safe base64."""
    # Some releases of Spark break long base64 into lines.
    return f"translate(base64({value}), '+/\r\n', '-_')"


def id_text(value: str) -> str:
    """Return SQL that encodes an id as 22 characters of URL-safe base64."""
    return f"substring({base64_text(value)}, 1, 22)"


def audit_digest(history: History) -> str:
    """Return the digest of the state at the end of a history, in lower-case hexadecimal."""
    return hashlib.sha256("".join(digest_lines(history)).encode("ascii")).hexdigest()


def digest_lines(history: History) -> list[str]:
    """Return a line `<part> <count> <lane 0> <lane 1> <lane 2> <lane 3>` per part, sorted by part.

    A part that differs between two states has different lines; equal parts have equal lines.
    """
    by_part = sums(history)
    listed = sorted(ALWAYS_LISTED | by_part.keys())
    return [f"{part} {' '.join(map(str, by_part.get(part, _NOTHING)))}\n" for part in listed]


_NOTHING = (0, 0, 0, 0, 0)
