"""A prefix in a bucket of an S3-compatible object store, through obstore.

Credentials, region and endpoint come from the environment (`AWS_ACCESS_KEY_ID`,
`AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`), never from the URL: URLs are printed.
Uploads are atomic: an object appears whole or not at all.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from metadata_log.fs import ByteStore, Lock, UrlPath
from records.errors import RequestError

try:
    import obstore
    from obstore.store import S3Store
except ImportError as error:
    raise RequestError(
        "INVALID_REQUEST",
        "object stores need the extra `archive`: pip install 'metadata-log[archive]'",
    ) from error

from metadata_log.care.object_files import LiveObjects, PinnedObjects, named_errors


class ObjectStore:
    """The objects under one prefix; `fs` reads them as a log directory."""

    def __init__(self, store: S3Store, directory: Path) -> None:
        self._store = store
        self.directory = directory
        self.fs: ByteStore = LiveObjects(store, directory)

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
                f"{parts.scheme}://{parts.hostname or ''}{parts.path} is not a place for a log; "
                "write a path, or s3://bucket/prefix with the credentials in the environment",
            )
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        store = S3Store(
            parts.hostname,
            prefix=prefix or None,
            # Plain HTTP only if the endpoint's URL asks for it.
            client_options={"allow_http": endpoint.startswith("http://")},
        )
        return cls(store, UrlPath(f"/s3:/{parts.hostname}/{prefix}"))

    def pinned(self) -> ByteStore:
        return PinnedObjects(self._store, self.directory)

    def prepare(self) -> Lock | None:
        # An object store has no locks; docs/care.md says to run one at a time.
        return None

    def names(self) -> list[str]:
        return self.fs.list(self.directory)

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        with named_errors(self.directory / name):
            obstore.put(self._store, name, iter(chunks))

    def delete(self, name: str) -> None:
        with named_errors(self.directory / name):
            obstore.delete(self._store, name)
