"""A prefix in a bucket of an S3-compatible object store, accessed with obstore.

Credentials, region and endpoint come from the environment (`AWS_ACCESS_KEY_ID`,
`AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`), never from the URL, because URLs are
printed. Uploads are atomic: an object appears complete or not at all. A bucket has no locks.
Instead, each `backup` or `archive` replaces only the object versions that it found when it began.
So if two of them overlap, the second to write a file stops there, before it has changed anything
that the first one wrote.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from metadata_log.files.fs import ByteStore, Lock, UrlPath
from records.errors import RequestError, UnavailableError

try:
    import obstore
    from obstore.exceptions import AlreadyExistsError, PreconditionError
    from obstore.store import S3Store
except ImportError as error:
    raise RequestError(
        "INVALID_REQUEST",
        "object stores need the extra `archive`: pip install 'metadata-log[archive]'",
    ) from error

from metadata_log.stores.object_files import LiveObjects, PinnedObjects, e_tags, named_errors

if TYPE_CHECKING:
    from obstore import PutMode


class ObjectStore:
    """The objects under one prefix; `fs` reads them as a log directory."""

    def __init__(self, store: S3Store, directory: Path) -> None:
        self._store = store
        self.directory = directory
        self.fs: ByteStore = LiveObjects(store, directory)
        # The ETag of each object that may be replaced; None before `prepare`.
        self._e_tags: dict[str, str | None] | None = None

    @classmethod
    def of_url(cls, url: str) -> Self:
        """Open `s3://bucket/prefix`; errors as for `bucket_of`."""
        store, path = bucket_of(url)
        return cls(store, path)

    def pinned(self) -> ByteStore:
        return PinnedObjects(self._store, self.directory)

    def prepare(self) -> Lock | None:
        self._e_tags = e_tags(self._store, self.directory)
        return None

    def names(self) -> list[str]:
        return self.fs.list(self.directory)

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        path = self.directory / name
        with named_errors(path):
            try:
                # Conditional uploads are in memory as a whole: a segment of 64 MiB, or a base.
                found = obstore.put(self._store, name, iter(chunks), mode=self._mode(name))
            except (AlreadyExistsError, PreconditionError) as error:
                raise UnavailableError(
                    f"another `backup` or `archive` wrote {path} meanwhile; run again when the "
                    "other has ended"
                ) from error
        if self._e_tags is not None:
            self._e_tags[name] = found["e_tag"]

    def _mode(self, name: str) -> "PutMode":
        """Return the upload mode for an object, which is the condition for writing it.

        The object must not exist yet, or must still have the known version. There is no condition
        before `prepare` has listed the versions, or if the store gave no ETag for the object.
        """
        if self._e_tags is None:
            return "overwrite"
        if name not in self._e_tags:
            return "create"
        e_tag = self._e_tags[name]
        # Without a listed ETag there is nothing to compare.
        return "overwrite" if e_tag is None else {"e_tag": e_tag}

    def delete(self, name: str) -> None:
        with named_errors(self.directory / name):
            obstore.delete(self._store, name)
        if self._e_tags is not None:
            self._e_tags.pop(name, None)


def bucket_of(url: str, *, retries: bool = True) -> tuple[S3Store, Path]:
    """Return the store of `s3://bucket/prefix`, and the URL as a path.

    Args:
        retries: Let the library repeat a request that failed.

    Raises:
        RequestError: the URL has another form, or the prefix has a part that no object's name can
            have.
    """
    parts = urlsplit(url)
    prefix = parts.path.strip("/")
    if parts.scheme != "s3" or not parts.hostname or parts.username or parts.query:
        raise RequestError(
            "INVALID_REQUEST",
            f"{parts.scheme}://{parts.hostname or ''}{parts.path} is not a place for a log; "
            "write a path, or s3://bucket/prefix with the credentials in the environment",
        )
    if not {".", "..", ""}.isdisjoint(prefix.split("/") if prefix else ()):
        raise RequestError(
            "INVALID_REQUEST",
            f"s3://{parts.hostname}/{prefix}: no part of a prefix can be empty, . or ..",
        )
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    store = S3Store(
        parts.hostname,
        prefix=prefix or None,
        # Plain HTTP only if the endpoint's URL asks for it.
        client_options={"allow_http": endpoint.startswith("http://")},
        retry_config=None if retries else {"max_retries": 0},
    )
    return (store, UrlPath(f"/s3:/{parts.hostname}/{prefix}"))
