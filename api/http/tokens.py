"""Bearer tokens: a file of lines `NAME:SHA256`, the hexadecimal SHA-256 of each token.

The principal is `User:NAME`; a name may have several tokens, so that a new token can replace an old
one gradually. Tokens are long and random, so a plain hash cannot be reversed by guessing. Empty
lines and lines that begin with `#` are ignored.
"""

import hashlib
import re
from pathlib import Path

from records.errors import RequestError

_LINE = re.compile(r"(?P<name>[^:\s][^:]*):(?P<digest>[0-9a-fA-F]{64})")

_EMPTY = hashlib.sha256(b"").digest()
"""Hash of an empty token, as a script writes it if its token is unset; anybody could send it."""

_BYTE_ORDER_MARK = "\ufeff"

Tokens = dict[bytes, str]
"""Principals by the digest of their token."""


def read_tokens(path: Path) -> Tokens:
    """Read a file of tokens.

    Raises:
        RequestError: INVALID_CONFIG, the file cannot be read or has no token, a line is malformed,
            or a token is empty or given twice.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError("INVALID_CONFIG", f"{path} cannot be read: {error}") from error
    if lines and lines[0].startswith(_BYTE_ORDER_MARK):
        raise _wrong(path, 1, "there is a byte order mark; save the file as UTF-8 without it")
    found: Tokens = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            # The line is not shown: it may be the token itself.
            raise _wrong(path, number, "write NAME:SHA256, the token's hash in 64 hex digits")
        digest = bytes.fromhex(match["digest"])
        if digest == _EMPTY:
            raise _wrong(path, number, "this is the hash of an empty token")
        if digest in found:
            raise _wrong(path, number, "an earlier line has the same token")
        found[digest] = f"User:{match['name']}"
    if not found:
        raise RequestError("INVALID_CONFIG", f"{path} has no tokens")
    return found


def _wrong(path: Path, line: int, problem: str) -> RequestError:
    return RequestError("INVALID_CONFIG", f"{path}, line {line}: {problem}")


def principal_of(tokens: Tokens, authorization: str) -> str | None:
    """Return the principal for a header `Authorization`; None if its token is unknown."""
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer":
        return None
    return tokens.get(hashlib.sha256(token.strip().encode()).digest())
