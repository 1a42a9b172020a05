"""The stores of shared logs, each new and empty."""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from urllib.parse import urlsplit

import pytest
from obstore.store import S3Store

from metadata_log.shared.bucket import BucketSharedLog
from metadata_log.shared.postgres import PostgresSharedLog
from metadata_log.shared.shared_log import SharedLog
from replay.snapshot.database import open_database
from replay.snapshot.schema import SHARED_LOG, upgrade
from tests.postgres import new_database, text_of
from tests.shared_log.memory import MemorySharedLog, MemoryStore

Connect = Callable[[], AbstractAsyncContextManager[SharedLog]]


@contextlib.asynccontextmanager
async def _memory(_: pytest.FixtureRequest) -> AsyncIterator[Connect]:
    store = MemoryStore()

    @contextlib.asynccontextmanager
    async def connect() -> AsyncIterator[SharedLog]:
        yield MemorySharedLog(store)

    yield connect


@contextlib.asynccontextmanager
async def _postgres(request: pytest.FixtureRequest) -> AsyncIterator[Connect]:
    with new_database(request.getfixturevalue("postgres")) as url:
        engine = open_database(url)
        upgrade(engine, SHARED_LOG)
        engine.dispose()

        @contextlib.asynccontextmanager
        async def connect() -> AsyncIterator[SharedLog]:
            log = PostgresSharedLog(text_of(url), accept_hollow=True)
            await log.open()
            try:
                yield log
            finally:
                await log.close()

        yield connect


@contextlib.asynccontextmanager
async def _bucket(request: pytest.FixtureRequest) -> AsyncIterator[Connect]:
    place = urlsplit(request.getfixturevalue("s3_place"))
    assert place.hostname

    @contextlib.asynccontextmanager
    async def connect() -> AsyncIterator[SharedLog]:
        yield BucketSharedLog(
            S3Store(
                place.hostname,
                prefix=place.path.strip("/"),
                client_options={"allow_http": True},
                retry_config={"max_retries": 0},
            )
        )

    yield connect


async def lose(log: SharedLog, number: int) -> None:
    """Lose a group, as a store does that is damaged, or that somebody tidied up."""
    match log:
        case MemorySharedLog():
            log.lose(number)
        case PostgresSharedLog():
            await log._reading.run(f"DELETE FROM shared_group WHERE number = {number}")
        case BucketSharedLog():
            await log._store.delete_async(f"groups/{number:020d}")


STORES: dict[str, Callable[[pytest.FixtureRequest], AbstractAsyncContextManager[Connect]]] = {
    "memory": _memory,
    "postgres": _postgres,
    "bucket": _bucket,
}
"""By name, what makes a store."""
