"""Stores of shared logs, opened by URL; and the creation of a shared log from a log."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from metadata_log.care.shared_copy import Compared, compare_with_folder
from metadata_log.care.shared_upload import base_groups, groups_of, new_claim
from metadata_log.files.fs import ByteStore, OsFs
from metadata_log.files.lock import lock_directory
from metadata_log.files.names import NODE_FILE
from metadata_log.format.manifest import Kind, read_manifest
from metadata_log.reader.committed import committed_segments, highest_epoch
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.identity import Identity, node_of
from metadata_log.shared.refusal import StoreRefusesError
from metadata_log.shared.shared_log import EMPTY, Position, SharedLog, other_shared_log
from records.errors import RequestError
from replay.snapshot.database import open_database, shown_url
from replay.snapshot.schema import SHARED_LOG, check, upgrade

if TYPE_CHECKING:
    from metadata_log.shared.bucket import BucketSharedLog
    from metadata_log.shared.postgres import PostgresSharedLog

POSTGRESQL = ("postgresql://", "postgres://")


async def open_store(url: str, *, accept_hollow: bool = False) -> SharedLog:
    """Connect to the store of a shared log.

    Args:
        url: `postgresql://USER@HOST/DB` or `s3://bucket/prefix`.
        accept_hollow: Trust a PostgreSQL server whose settings promise no durable commits, and a
            bucket that was not tested.

    Raises:
        RequestError: the URL has another form; an extra is not installed; or the store refuses this
            user, has no shared log, or cannot hold one.
        UnavailableError: the store cannot be reached.
    """
    log = await asyncio.to_thread(_store_of, url, accept_hollow)
    try:
        with _refusals():
            await log.open()
            await log.identity()
    except BaseException:
        await log.close()
        raise
    return log


def _store_of(url: str, accept_hollow: bool) -> "PostgresSharedLog | BucketSharedLog":
    # The libraries of both are extras.
    if url.startswith(POSTGRESQL):
        from metadata_log.shared.postgres import PostgresSharedLog

        engine = open_database(url)
        try:
            check(engine, SHARED_LOG)
        finally:
            engine.dispose()
        return PostgresSharedLog(url, accept_hollow=accept_hollow)
    if url.startswith("s3://"):
        from metadata_log.shared.bucket import BucketSharedLog

        return BucketSharedLog.of_url(url, is_trusted=accept_hollow)
    raise RequestError(
        "INVALID_REQUEST",
        "a shared log is in PostgreSQL or in a bucket: postgresql://USER@HOST/DB or "
        "s3://bucket/prefix",
    )


def url_of(place: str) -> str | None:
    """Return the URL of a shared log, which may be named by the folder of a node.

    None for the folder of a log that no nodes share.

    Raises:
        RequestError, CorruptLogError: as `shared_url`.
    """
    if "://" in place:
        return place
    read_manifest(OsFs(), Path(place))
    return None if node_of(OsFs(), Path(place)) is None else shared_url(place)


def shared_url(place: str) -> str:
    """Return the URL of a shared log; `place` is that URL, or the folder of a node.

    Raises:
        RequestError: LOG_NOT_FOUND, there is no such folder; INVALID_REQUEST, the folder is not a
            node's, or does not say where the shared log is.
        CorruptLogError: the folder's `node.json` is damaged.
    """
    if "://" in place:
        return place
    read_manifest(OsFs(), Path(place))
    node = node_of(OsFs(), Path(place))
    if node is None or not node.shared:
        raise RequestError(
            "INVALID_REQUEST",
            f"{place} does not say where its shared log is; name its URL"
            if node is not None
            else f"{place} is not the folder of a node; name the URL of a shared log",
        )
    return node.shared


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[SharedLog]:
    """Connect to a store that nodes use already: nothing is tested, and a reader writes nothing.

    Raises:
        RequestError, UnavailableError: as `open_store`.
    """
    log = await open_store(url, accept_hollow=True)
    try:
        with _refusals():
            yield log
    finally:
        await log.close()


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Convert what a store refuses: an operator has to look, and no retry helps."""
    try:
        yield
    except StoreRefusesError as error:
        raise RequestError("INVALID_REQUEST", str(error)) from error


async def compare_with_store(
    url: str, fs: ByteStore, directory: Path, progress: Callable[[int], None]
) -> Compared:
    """Compare a folder with a shared log; errors of `open_store` and `compare_with_folder`."""
    async with opened(url) as log:
        return await compare_with_folder(log, fs, directory, progress)


async def create_shared_log(
    url: str, directory: Path, progress: Callable[[int], None] | None = None
) -> tuple[Identity, Position]:
    """Create a shared log with all that a log has; return its identity and its end.

    If the log starts from a checkpoint, new nodes start from it, too.

    The shared log exists only once the upload is complete. Nothing may write to the log during the
    upload; afterwards only a node may.

    Args:
        url: As for `open_store`.
        directory: A log that is no mirror.
        progress: Called with the bytes uploaded so far, of `upload_size`: with 0 before the first
            step, then after each.

    Raises:
        RequestError: LOG_EXISTS, the store holds a shared log, or the rest of an upload; or the
            directory is a mirror, or a node's folder; or as `open_store`.
        UnavailableError: the store cannot be reached, or another process writes the log.
        CorruptLogError: the log is damaged.
    """
    manifest = read_manifest(OsFs(), directory)
    if manifest.kind is not Kind.OWN:
        raise RequestError(
            "INVALID_REQUEST",
            f"{directory} mirrors a Kafka cluster and cannot be shared; make a writable log from "
            "it with `metalog fork`",
        )
    if (node := node_of(OsFs(), directory)) is not None:
        raise RequestError(
            "INVALID_REQUEST",
            f"{directory} is the folder of node {node.node_id} of a shared log; if that shared log "
            f"is gone for good, remove {directory / NODE_FILE} first",
        )
    identity = Identity(cluster_id=manifest.cluster_id, log_id=secrets.token_hex(8))
    log = await asyncio.to_thread(_new_store_of, url)
    lock = lock_directory(OsFs(), directory)
    try:
        with _refusals():
            await log.open()
            if await log.end() != EMPTY:
                raise other_shared_log(shown_url(url))
            end = await upload(log, directory, progress or (lambda offset: None))
            await log.create(identity)
    finally:
        lock.release()
        await log.close()
    return identity, end


def _new_store_of(url: str) -> "PostgresSharedLog | BucketSharedLog":
    if url.startswith(POSTGRESQL):
        engine = open_database(url)
        try:
            upgrade(engine, SHARED_LOG)
        finally:
            engine.dispose()
    return _store_of(url, accept_hollow=False)


async def upload(log: SharedLog, directory: Path, progress: Callable[[int], None]) -> Position:
    """Append all that a log has to an empty shared log; arguments and errors as above."""
    at, sent = EMPTY, 0
    progress(sent)
    with LogReader.open(directory) as reader:
        segments = committed_segments(OsFs(), reader)
        parts = [partial(groups_of, segment) for segment in segments]
        if reader.base is not None:
            parts.insert(0, partial(base_groups, reader.base, segments[0]))
        for part in parts:
            for group in part(at):
                await log.append(group, after=at)
                at = group.end
                sent += sum(len(entry.content) for entry in group.entries)
                progress(sent)
        # An epoch that only this folder knows, as after `fork`, is not used again.
        claimed = highest_epoch(OsFs(), reader)
        if claimed > at.epoch:
            claim = new_claim(at, claimed)
            await log.append(claim, after=at)
            at = claim.end
    return at


def upload_size(directory: Path) -> int:
    """Return how many bytes `create_shared_log` uploads: of the base, and of all segments.

    Raises:
        CorruptLogError: the log is damaged.
        UnavailableError: the log's start moved up meanwhile.
    """
    with LogReader.open(directory) as reader:
        sizes = [segment.size for segment in committed_segments(OsFs(), reader)]
        return sum(sizes) + (0 if reader.base is None else reader.base.size)
