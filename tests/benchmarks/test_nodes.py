"""The benches of nodes store what they say, in the shared log and in the leader's folder."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.nodes.stores import compare_with_store
from benchmarks.changes import batches, partition_changes
from benchmarks.nodes.leading import leading
from benchmarks.nodes.postgres import database, servers
from benchmarks.own_log import CLUSTER_ID, append_all
from metadata_log.files.fs import OsFs
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log

_CHANGES = list(itertools.islice(partition_changes(), 60))


@pytest.fixture
def url() -> Iterator[str]:
    with servers() as (server,), database(server) as found:
        yield found


def test_a_log_that_leads_has_committed_the_changes_in_the_store(tmp_path: Path, url: str) -> None:
    async def append() -> None:
        create_log(tmp_path / "log", CLUSTER_ID)
        async with leading(tmp_path / "log", url) as log:
            await append_all(log, itertools.islice(batches(partition_changes(), 1), 60), callers=4)

    asyncio.run(append())
    with LogReader.open(tmp_path / "log") as reader:
        found = [row.payload for batch in reader.batches(1) for row in batch.rows]
    assert sorted(map(str, found)) == sorted(map(str, _CHANGES))
    compared = asyncio.run(compare_with_store(url, OsFs(), tmp_path / "log", lambda offset: None))
    assert compared.difference is None
    assert (compared.to_offset, compared.missing) == (61, 0)
