"""The request ids of a file's batches: from its content and each batch's place in it.

So a run that is repeated, because the first one was stopped or refused somewhere in between,
appends what is missing and nothing twice.
"""

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import msgspec

from api.cli.append_doors import Door
from api.cli.arguments import OFFSET_MAX
from api.cli.record_lines import LINE_SIZE_BYTES_MAX, batch_count_max
from metadata_log.append_result import AppendResult
from metadata_log.batch import NewBatch
from records.control import NoOpRecord
from records.envelope import Origin
from records.errors import RequestError

_KEPT_IN_MEMORY_BYTES = 16 << 20

# How many batches are looked for at a time.
_PROBES_AT_ONCE = 256

_OTHER_END = "INVALID_UPDATE_VERSION"


class FileRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What identifies the batches of one file.

    `batch_count_max`: the file has no more batches than that.
    """

    request_id: str
    request_hash: bytes
    batch_count_max: int

    def origin(self, origin: Origin, ordinal: int) -> Origin:
        """Return the origin of the batch in this place, counted from 0."""
        suffix = f"/{ordinal}" if ordinal else ""
        return msgspec.structs.replace(
            origin, request_id=self.request_id + suffix, request_hash=self.request_hash
        )


@contextmanager
def rewindable(source: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield the same bytes as a file that can be read twice, which a pipe cannot."""
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
    """Read a file to its end, and go back to where it was.

    Args:
        request_id: Chosen by the caller; None is one made of the content.
        options: What else decides how the file is cut into batches.
        size: Records a batch, as for `line_batches`.
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
    door: Door, request: FileRequest, origin: Origin
) -> tuple[int, AppendResult] | None:
    """Return the place of the last batch that an earlier run has appended, and where it stands.

    All places are looked at: the log remembers its last requests only, so of a long file it may
    know the end and not the beginning.

    Raises:
        RequestError: INVALID_REQUEST, the ids belong to a file that was cut in another way.
    """
    found = None
    for start in range(0, request.batch_count_max, _PROBES_AT_ONCE):
        places = range(start, min(start + _PROBES_AT_ONCE, request.batch_count_max))
        probes = [_find(door, request.origin(origin, place)) for place in places]
        for place, result in zip(places, await asyncio.gather(*probes), strict=True):
            if result is not None:
                found = place, result
    return found


async def _find(door: Door, origin: Origin) -> AppendResult | None:
    """Look up a batch: one at an impossible offset is refused unless it is a repeated request."""
    probe = NewBatch(records=(NoOpRecord(),), origin=origin)
    try:
        return await door.append(probe, expected_end_offset=OFFSET_MAX)
    except RequestError as error:
        if error.code == _OTHER_END:
            return None
        raise
