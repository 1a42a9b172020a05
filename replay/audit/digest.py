"""The digest of docs/digest.md, computed in Spark's workers."""

import hashlib

from replay.audit.digest_lines import digest_lines
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
    lines = digest_lines(sums(history))
    return hashlib.sha256("".join(lines).encode("ascii")).hexdigest()
