"""Stores of shared logs, opened by URL; and the creation of a shared log from a log."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from metadata_log.care.shared_copy import Compared, compare_with_folder
from metadata_log.care.shared_upload import groups_of
from metadata_log.files.fs import ByteStore, OsFs
from metadata_log.files.lock import lock_directory
from metadata_log.format.manifest import Kind, read_manifest
from metadata_log.reader.committed import committed_segments
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.identity import Identity, node_of
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
        yield log
    finally:
        await log.close()


async def compare_with_store(
    url: str, fs: ByteStore, directory: Path, progress: Callable[[int], None]
) -> Compared:
    """Compare a folder with a shared log; errors of `open_store` and `compare_with_folder`."""
    async with opened(url) as log:
        return await compare_with_folder(log, fs, directory, progress)


async def create_shared_log(
    url: str, directory: Path, progress: Callable[[int], None] | None = None
) -> tuple[Identity, Position]:
    """Create a shared log with all records of a log; return its identity and its end.

    The shared log exists only once the upload is complete. Nothing may write to the log during the
    upload; afterwards only a node may.

    Args:
        url: As for `open_store`.
        directory: A log that is no mirror, and begins at offset 0.
        progress: Called with the end offset after each step.

    Raises:
        RequestError: LOG_EXISTS, the store holds a shared log, or the rest of an upload; or the
            directory is a mirror, or does not begin at offset 0; or as `open_store`.
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
    identity = Identity(cluster_id=manifest.cluster_id, log_id=secrets.token_hex(8))
    log = await asyncio.to_thread(_new_store_of, url)
    lock = lock_directory(OsFs(), directory)
    try:
        await log.open()
        if await log.end() != EMPTY:
            raise other_shared_log(shown_url(url))
        end = await _upload(log, directory, progress or (lambda offset: None))
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


async def _upload(log: SharedLog, directory: Path, progress: Callable[[int], None]) -> Position:
    at = EMPTY
    with LogReader.open(directory) as reader:
        if reader.start_offset > 0:
            raise RequestError(
                "INVALID_REQUEST",
                f"{directory} begins at offset {reader.start_offset}, but a shared log needs all "
                "records; restore them from the archive first",
            )
        for segment in committed_segments(OsFs(), reader):
            for made in groups_of(segment, at):
                await log.append(made, after=at)
                at = made.end
                progress(at.end_offset)
    return at
