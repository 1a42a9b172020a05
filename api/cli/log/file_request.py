"""Request ids of a file's batches, derived from the file's content and each batch's position.

A run that was stopped or refused can therefore be repeated: it appends only what is missing.
"""

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import msgspec

from api.cli.log.append_target import AppendTarget
from api.cli.source.arguments import OFFSET_MAX
from api.requests.record_lines import LINE_SIZE_BYTES_MAX, batch_count_max
from metadata_log.format.batch import AppendResult, NewBatch
from records.control import NoOpRecord
from records.envelope import Origin
from records.errors import RequestError

_KEPT_IN_MEMORY_BYTES = 16 << 20

# How many batches are looked up at a time.
_PROBES_AT_ONCE = 256

_OTHER_END = "INVALID_UPDATE_VERSION"


class FileRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Identity of the batches of one file.

    `batch_count_max`: upper bound of the number of batches.
    """

    request_id: str
    request_hash: bytes
    batch_count_max: int

    def origin(self, origin: Origin, ordinal: int) -> Origin:
        """Return the origin of the batch at a position, counted from 0."""
        suffix = f"/{ordinal}" if ordinal else ""
        return msgspec.structs.replace(
            origin, request_id=self.request_id + suffix, request_hash=self.request_hash
        )


@contextmanager
def rewindable(source: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield the source as a file that can be read twice; a pipe is copied to one."""
    if source.seekable():
        yield source
        return
    with tempfile.SpooledTemporaryFile(max_size=_KEPT_IN_MEMORY_BYTES) as copy:
        shutil.copyfileobj(source, copy)
        copy.seek(0)
        yield copy


def file_request(
    source: IO[bytes], request_id: str | None, *options: object, size: int | None
) -> FileRequest:
    """Read a file to its end, rewind it, and return the identity of its batches.

    Args:
        request_id: Chosen by the caller; None means an id derived from the content.
        options: Other options that decide how the file is split into batches.
        size: Records per batch, as for `line_batches`.
    """
    start, content = source.tell(), hashlib.sha256()

    def hashed() -> Iterator[bytes]:
        while line := source.readline(LINE_SIZE_BYTES_MAX):
            content.update(line)
            yield line

    count_max = batch_count_max(hashed(), size)
    source.seek(start)
    whole = hashlib.sha256(content.digest() + repr(options).encode())
    return FileRequest(
        request_id=request_id or f"file-{content.hexdigest()[:32]}",
        request_hash=whole.digest(),
        batch_count_max=count_max,
    )


async def last_known(
    target: AppendTarget, request: FileRequest, origin: Origin
) -> tuple[int, AppendResult] | None:
    """Return the position and result of the last batch that an earlier run appended, or None.

    All positions are checked: the log remembers only recent requests, so it may know the end of a
    long file but not the beginning.

    Raises:
        RequestError: INVALID_REQUEST, the ids belong to a file that was split in another way.
    """
    found = None
    for start in range(0, request.batch_count_max, _PROBES_AT_ONCE):
        places = range(start, min(start + _PROBES_AT_ONCE, request.batch_count_max))
        probes = [_find(target, request.origin(origin, place)) for place in places]
        for place, result in zip(places, await asyncio.gather(*probes), strict=True):
            if result is not None:
                found = place, result
    return found


async def _find(target: AppendTarget, origin: Origin) -> AppendResult | None:
    """Return the result of a batch if it was appended before, else None.

    Sends the request id with an impossible expected offset, which is refused for a new request
    only.
    """
    probe = NewBatch(records=(NoOpRecord(),), origin=origin)
    try:
        return await target.append(probe, expected_end_offset=OFFSET_MAX)
    except RequestError as error:
        if error.code == _OTHER_END:
            return None
        raise
