"""A prefix in a bucket of an S3-compatible object store, through obstore.

Credentials, region and endpoint come from the environment (`AWS_ACCESS_KEY_ID`,
`AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`), never from the URL: URLs are printed.
Uploads are atomic: an object appears whole or not at all.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from metadata_log.fs import File, Fs, Lock
from records.errors import RequestError, UnavailableError

try:
    import obstore
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
    from obstore.store import S3Store
except ImportError as error:
    raise RequestError(
        "INVALID_REQUEST",
        "object stores need the extra `archive`: pip install 'metadata-log[archive]'",
    ) from error

# Where the library looks for the machine's role if the environment holds no credentials.
_METADATA_SERVICE = "/latest/api/token"


class ObjectStore:
    """The objects under one prefix; `fs` reads them as a log directory."""

    def __init__(self, store: S3Store, directory: Path) -> None:
        self._store = store
        self.directory = directory
        self.fs: Fs = ObjectFs(store, directory)

    @classmethod
    def of_url(cls, url: str) -> Self:
        """Open `s3://bucket/prefix`.

        Raises:
            RequestError: the URL has another form.
        """
        parts = urlsplit(url)
        prefix = parts.path.strip("/")
        if parts.scheme != "s3" or not parts.hostname or parts.username or parts.query:
            raise RequestError(
                "INVALID_REQUEST",
                f"{parts.scheme}://{parts.hostname or ''}{parts.path} is no place for a log; write "
                "a path, or s3://bucket/prefix with the credentials in the environment",
            )
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        store = S3Store(
            parts.hostname,
            prefix=prefix or None,
            # Plain HTTP only if the endpoint's URL asks for it.
            client_options={"allow_http": endpoint.startswith("http://")},
        )
        return cls(store, Path(f"/s3:/{parts.hostname}/{prefix}"))

    def prepare(self) -> Lock | None:
        # An object store has no locks; docs/care.md says to run one at a time.
        return None

    def names(self) -> list[str]:
        return self.fs.list(self.directory)

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        with _named_errors(self.directory / name):
            obstore.put(self._store, name, iter(chunks))

    def delete(self, name: str) -> None:
        with _named_errors(self.directory / name):
            obstore.delete(self._store, name)


class ObjectFs:
    """A read-only file system over a prefix."""

    def __init__(self, store: S3Store, directory: Path) -> None:
        self._store = store
        self._directory = directory

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        assert not write and not create, "object stores are written through ObjectStore.put"
        with _named_errors(path):
            size = obstore.head(self._store, self._name(path))["size"]
        return ObjectFile(self._store, path, self._name(path), size)

    def list(self, directory: Path) -> list[str]:
        assert directory == self._directory
        with _named_errors(directory):
            found = [item["path"] for page in obstore.list(self._store) for item in page]
        return sorted(name for name in found if "/" not in name)

    def exists(self, path: Path) -> bool:
        return self._name(path) in self.list(self._directory)

    def make_directory(self, path: Path) -> None:
        raise AssertionError("object stores are written through ObjectStore.put")

    def rename(self, source: Path, target: Path) -> None:
        raise AssertionError("object stores are written through ObjectStore.put")

    def unlink(self, path: Path) -> None:
        raise AssertionError("object stores are written through ObjectStore.put")

    def sync_directory(self, path: Path) -> None:
        raise AssertionError("object stores are written through ObjectStore.put")

    def lock(self, path: Path, owner: str) -> Lock:
        raise AssertionError("object stores cannot be locked")

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._directory))


class ObjectFile:
    """An object, read by ranges; its size is the one at opening."""

    def __init__(self, store: S3Store, path: Path, name: str, size: int) -> None:
        self._store = store
        self._path = path
        self._name = name
        self._size = size

    def pread(self, size: int, position: int) -> bytes:
        length = min(size, self._size - position)
        if length <= 0:
            return b""
        with _named_errors(self._path):
            return bytes(obstore.get_range(self._store, self._name, start=position, length=length))

    def pwrite(self, data: bytes, position: int) -> None:
        raise AssertionError("objects are never changed in place")

    def truncate(self, size: int) -> None:
        raise AssertionError("objects are never changed in place")

    def sync(self) -> None:
        raise AssertionError("objects are never changed in place")

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        """Do nothing: no connection is held between two ranges."""


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    """Turn the store's errors into ours; a missing object stays a FileNotFoundError."""
    try:
        yield
    except (BaseError, OSError) as error:
        raise _named(error, path) from error


def _named(error: Exception, path: Path) -> Exception:
    if "NoSuchBucket" in str(error):
        return RequestError("INVALID_REQUEST", f"{path}: there is no such bucket; make it first")
    if _METADATA_SERVICE in str(error):
        return RequestError(
            "AUTHORIZATION_FAILED",
            f"{path}: no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
            "(this machine has no role that would give some)",
        )
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(2, "no such object", str(path))
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return RequestError("AUTHORIZATION_FAILED", f"{path}: {_first_line(error)}")
    return UnavailableError(f"{path}: {_first_line(error)}; try again")


def _first_line(error: Exception) -> str:
    # The other lines are for the library's authors.
    return str(error).partition("\n")[0]
