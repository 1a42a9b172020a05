"""Objects of an S3-compatible store as files, read by ranges of one version.

An object's ETag changes with its content. Range requests carry the ETag from opening, so the ranges
of one file always belong to the same content. A store that lists no ETags gives no such guarantee.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import obstore
from obstore.exceptions import (
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import S3Store

from records.errors import RequestError, UnavailableError

if TYPE_CHECKING:
    from obstore import GetOptions, ObjectMeta

# Headers, marks and indexes: the first bytes of a file are read often.
_HEAD_SIZE = 64 * 1024
# The largest request when an object is read from one end to the other.
_READ_AHEAD_MAX = 8 * 1024 * 1024
# How many objects' first bytes are cached: 16 MiB at most.
_HEADS_KEPT = 256

# Where the library looks for the machine's role if the environment holds no credentials.
_METADATA_SERVICE = "/latest/api/token"


class LiveObjects:
    """The current objects under a prefix; an open file keeps the version of its opening."""

    def __init__(self, store: S3Store, directory: Path) -> None:
        self._store = store
        self._directory = directory

    def open(self, path: Path) -> "ObjectFile":
        with named_errors(path):
            found = obstore.head(self._store, path.name)
        # Nothing is cached across openings, so that a copy is read back from the store.
        return ObjectFile(_Ranges(self._store), path, found)

    def list(self, directory: Path) -> list[str]:
        assert directory == self._directory
        return sorted(_listed(self._store, directory))

    def exists(self, path: Path) -> bool:
        return path.name in self.list(path.parent)


class PinnedObjects:
    """The objects under a prefix at the time of one listing; later changes are not seen."""

    def __init__(self, store: S3Store, directory: Path) -> None:
        """List the objects under the prefix.

        Raises:
            RequestError: there is no such bucket, or access is denied.
            UnavailableError: the store does not answer.
        """
        self._ranges = _Ranges(store)
        self._directory = directory
        self._found = _listed(store, directory)

    def open(self, path: Path) -> "ObjectFile":
        found = self._found.get(path.name)
        if found is None:
            raise FileNotFoundError(2, "no such object", str(path))
        return ObjectFile(self._ranges, path, found)

    def list(self, directory: Path) -> list[str]:
        assert directory == self._directory
        return sorted(self._found)

    def exists(self, path: Path) -> bool:
        return path.name in self._found


class ObjectFile:
    """One version of an object, read like a file."""

    def __init__(self, ranges: "_Ranges", path: Path, found: "ObjectMeta") -> None:
        self._ranges = ranges
        self._path = path
        self._size = found["size"]
        self._e_tag = found["e_tag"]

    def pread(self, size: int, position: int) -> bytes:
        end = min(position + size, self._size)
        if end <= position:
            return b""
        if end > _HEAD_SIZE:
            return self._ranges.get(self._path, self._e_tag, position, end, self._size)
        head_size = min(_HEAD_SIZE, self._size)
        return self._ranges.head(self._path, self._e_tag, head_size)[position:end]

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        """Do nothing: no connection stays open between two range requests."""


class _Kept(NamedTuple):
    """The last range fetched, with the object and the version it belongs to."""

    path: Path
    e_tag: str | None
    start: int
    content: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.content)

    def continues(self, path: Path, e_tag: str | None, start: int) -> bool:
        """True if a read from `start` of this version begins in this range or directly after it."""
        return (self.path, self.e_tag) == (path, e_tag) and self.start <= start <= self.end


class _Ranges:
    """Reads byte ranges of objects.

    Caches the first bytes of many objects and, of later bytes, only the range that was read last.
    """

    def __init__(self, store: S3Store) -> None:
        self._store = store
        self.head = lru_cache(maxsize=_HEADS_KEPT)(self._head)
        self._last: _Kept | None = None

    def get(self, path: Path, e_tag: str | None, start: int, end: int, size: int) -> bytes:
        """Return the bytes [start, end) of one version of an object of `size` bytes.

        Each request that continues the previous one asks for twice as many bytes, so that reading a
        segment of 64 MiB takes about ten requests, and each byte is fetched once.

        Raises:
            UnavailableError: the object was replaced, or the store does not answer.
            FileNotFoundError: the object was removed.
        """
        last = self._last
        if last is None or not last.continues(path, e_tag, start):
            last = _Kept(path, e_tag, start, self._fetch(path, e_tag, start, end))
        elif end > last.end:
            ahead = min(2 * len(last.content), _READ_AHEAD_MAX)
            until = min(max(end, last.end + ahead), size)
            more = self._fetch(path, e_tag, last.end, until)
            last = _Kept(path, e_tag, start, last.content[start - last.start :] + more)
        self._last = last
        return last.content[start - last.start : end - last.start]

    def _head(self, path: Path, e_tag: str | None, size: int) -> bytes:
        return self._fetch(path, e_tag, 0, size)

    def _fetch(self, path: Path, e_tag: str | None, start: int, end: int) -> bytes:
        with named_errors(path):
            options: GetOptions = {"range": (start, end)}
            if e_tag is not None:
                options["if_match"] = e_tag
            return bytes(obstore.get(self._store, path.name, options=options).bytes())


def _listed(store: S3Store, directory: Path) -> "dict[str, ObjectMeta]":
    """Return the objects directly below the prefix, by name."""
    with named_errors(directory):
        found = [item for page in obstore.list(store) for item in page]
    return {item["path"]: item for item in found if "/" not in item["path"]}


def e_tags(store: S3Store, directory: Path) -> dict[str, str | None]:
    """Return the ETag of each object directly below the prefix, by name; None if it has no ETag."""
    return {name: found["e_tag"] for name, found in _listed(store, directory).items()}


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Convert the store's errors to ours; a missing object stays a FileNotFoundError."""
    try:
        yield
    except (BaseError, OSError) as error:
        raise _named(error, path) from error


def _named(error: Exception, path: Path) -> Exception:
    if "NoSuchBucket" in str(error):
        return RequestError(
            "INVALID_REQUEST", f"{path}: there is no such bucket; create the bucket first"
        )
    if _METADATA_SERVICE in str(error):
        return RequestError(
            "AUTHORIZATION_FAILED",
            f"{path}: no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
            "(this machine has no role that would give some)",
        )
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(2, "no such object", str(path))
    if isinstance(error, PreconditionError):
        return UnavailableError(f"{path} was replaced while it was read; try again")
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return RequestError("AUTHORIZATION_FAILED", f"{path}: {_first_line(error)}")
    return UnavailableError(f"{path}: {_first_line(error)}; try again")


def _first_line(error: Exception) -> str:
    # The other lines are for the library's authors.
    return str(error).partition("\n")[0]
