"""ListOffsets: lookups by the timestamps of records, special timestamps, and errors."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
import pytest_asyncio
from backports import zstd
from msgspec.structs import replace

from api.broker.batches import BATCH_SIZE_BYTES_MAX
from api.broker.record_rules import DEFAULT_RULES
from api.kafka import apis
from api.kafka.errors import name_of
from api.kafka.messages.records_io import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    GREATEST_TIMESTAMP,
    LATEST,
    LATEST_TIERED,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from tests.api.broker.leader import ME, OTHER, Broker
from tests.api.broker.records import timed_batch

NOTHING = (-1, -1, -1)
CODECS: dict[int, Callable[[bytes], bytes]] = {
    1: gzip.compress,
    2: lambda plain: pyarrow.Codec("snappy").compress(plain, asbytes=True),
    3: lambda plain: pyarrow.Codec("lz4").compress(plain, asbytes=True),
    4: zstd.compress,
}


@pytest_asyncio.fixture
async def broker(tmp_path: Path) -> Broker:
    broker = Broker(tmp_path)
    await broker.lead()
    return broker


async def listed(
    broker: Broker,
    *timestamps: int,
    version: int = 11,
    replica_id: int = -1,
    leader_epoch: int = -1,
    partition: int = 0,
) -> list[ListedOffset]:
    asked = [
        ListOffsetsPartition(
            partition_index=partition, timestamp=t, current_leader_epoch=leader_epoch
        )
        for t in timestamps
    ]
    request = ListOffsetsRequest(
        replica_id=replica_id, topics=(ListOffsetsTopic(name="a", partitions=tuple(asked)),)
    )
    response = await broker.ask(apis.LIST_OFFSETS, request, version)
    assert isinstance(response, ListOffsetsResponse)
    return list(response.topics[0].partitions)


async def found(broker: Broker, timestamp: int, **fields: int) -> tuple[int, int, int]:
    """Return offset, timestamp and leader epoch."""
    (one,) = await listed(broker, timestamp, **fields)
    assert name_of(one.error_code) == "NONE"
    return one.offset, one.timestamp, one.leader_epoch


async def refused(broker: Broker, timestamp: int, **fields: int) -> str:
    (one,) = await listed(broker, timestamp, **fields)
    assert (one.offset, one.timestamp, one.leader_epoch) == NOTHING
    return name_of(one.error_code)


# A topic without limits: the lookups also meet times and sizes that are refused by default.
_NO_LIMITS = replace(DEFAULT_RULES, size_bytes_max=BATCH_SIZE_BYTES_MAX, after_ms_max=2**63 - 1)


async def write(broker: Broker, content: bytes) -> None:
    replica = broker.replicas.get("a", 0)
    assert replica is not None
    await replica.append(content, _NO_LIMITS)


async def test_first_record_at_or_after_a_time_counts_within_its_batch(broker: Broker) -> None:
    await write(broker, timed_batch(100, 400, 200))
    assert await found(broker, 150) == (1, 400, 5)
    assert await found(broker, 100) == (0, 100, 5)
    assert await found(broker, 101) == (1, 400, 5)
    assert await found(broker, 400) == (1, 400, 5)
    assert await found(broker, 401) == NOTHING


async def test_time_is_found_in_a_later_batch_and_epoch(broker: Broker) -> None:
    await write(broker, timed_batch(100, 200))
    await broker.lead(leader_epoch=7)
    await write(broker, timed_batch(50, 300, 250))
    assert await found(broker, 60) == (0, 100, 5)
    assert await found(broker, 201) == (3, 300, 7)
    assert await found(broker, 0, version=1) == (0, 100, 5)


@pytest.mark.parametrize("codec", CODECS)
async def test_compressed_records_are_looked_at(broker: Broker, codec: int) -> None:
    await write(broker, timed_batch(*range(1_000, 3_000), 100, codec=codec, compress=CODECS[codec]))
    assert await found(broker, 2_500) == (1_500, 2_500, 5)
    assert await found(broker, GREATEST_TIMESTAMP) == (1_999, 2_999, 5)
    assert await found(broker, 3_000) == NOTHING


async def test_batches_of_the_append_time_have_one_time(broker: Broker) -> None:
    await write(broker, timed_batch(100, 200, 300, attributes=0x08))
    assert await found(broker, 250) == (0, 300, 5)
    assert await found(broker, GREATEST_TIMESTAMP) == (0, 300, 5)


async def test_time_that_only_the_header_has_is_passed_over(broker: Broker) -> None:
    await write(broker, timed_batch(100, 200, max_timestamp=900))
    await write(broker, timed_batch(300))
    assert await found(broker, 250) == (2, 300, 5)


async def test_special_timestamps(broker: Broker) -> None:
    assert await found(broker, EARLIEST) == (0, -1, -1)
    assert await found(broker, GREATEST_TIMESTAMP) == NOTHING
    await write(broker, timed_batch(100, 400, 200))
    await broker.lead(leader_epoch=6)
    await write(broker, timed_batch(400, 300))
    assert await found(broker, LATEST) == (5, -1, 6)
    assert await found(broker, EARLIEST) == (0, -1, 5)
    assert await found(broker, GREATEST_TIMESTAMP) == (1, 400, 5)
    assert await found(broker, EARLIEST_LOCAL) == (0, -1, 5)
    assert await found(broker, LATEST_TIERED) == NOTHING
    assert await found(broker, EARLIEST_PENDING_UPLOAD) == NOTHING


@pytest.mark.parametrize(
    ("timestamp", "since"),
    [
        (LATEST, 1),
        (EARLIEST, 1),
        (GREATEST_TIMESTAMP, 7),
        (EARLIEST_LOCAL, 8),
        (LATEST_TIERED, 9),
        (EARLIEST_PENDING_UPLOAD, 11),
        (-7, 12),
        (-(1 << 62), 12),
    ],
)
async def test_special_timestamps_need_their_version(
    broker: Broker, timestamp: int, since: int
) -> None:
    for version in range(1, 12):
        (one,) = await listed(broker, timestamp, version=version)
        expected = "NONE" if version >= since else "UNSUPPORTED_VERSION"
        assert name_of(one.error_code) == expected


async def test_partition_that_is_named_twice_is_refused(broker: Broker) -> None:
    codes = [name_of(one.error_code) for one in await listed(broker, LATEST, EARLIEST)]
    assert codes == ["INVALID_REQUEST", "INVALID_REQUEST"]


async def test_leaders_and_epochs_are_checked(broker: Broker) -> None:
    assert await refused(broker, LATEST, leader_epoch=4) == "FENCED_LEADER_EPOCH"
    assert await refused(broker, LATEST, leader_epoch=6) == "UNKNOWN_LEADER_EPOCH"
    assert await refused(broker, LATEST, partition=3) == "NOT_LEADER_OR_FOLLOWER"
    # A tool may ask any replica.
    assert await found(broker, EARLIEST, partition=3, replica_id=-2) == (0, -1, -1)


async def test_new_leader_that_does_not_know_the_high_watermark_says_so(broker: Broker) -> None:
    replica = broker.replicas.get("a", 0)
    assert replica is not None
    assert replica.state is not None
    replica.pending_isr = (ME, OTHER)
    await write(broker, timed_batch(100, 400, 200))
    replica.high_watermark = 1
    await broker.lead(leader_epoch=6)
    replica.high_watermark = 1
    assert await refused(broker, LATEST) == "OFFSET_NOT_AVAILABLE"
    assert await refused(broker, 150) == "OFFSET_NOT_AVAILABLE"
    assert await refused(broker, LATEST, version=4) == "LEADER_NOT_AVAILABLE"
    assert await found(broker, EARLIEST) == (0, -1, 5)
    assert await found(broker, LATEST, replica_id=OTHER) == (3, -1, 6)


@pytest.mark.parametrize("codec", CODECS)
async def test_records_that_cannot_be_expanded_are_corrupt(broker: Broker, codec: int) -> None:
    await write(broker, timed_batch(100, 200, codec=codec, compress=lambda _: b"no such content"))
    assert await refused(broker, 150) == "CORRUPT_MESSAGE"
    assert await found(broker, LATEST) == (2, -1, 5)


@pytest.mark.parametrize("codec", CODECS)
async def test_records_that_expand_without_end_are_corrupt(broker: Broker, codec: int) -> None:
    bomb = CODECS[codec](bytes(40 * 1024 * 1024))
    await write(broker, timed_batch(100, 200, codec=codec, compress=lambda _: bomb))
    assert await refused(broker, 150) == "CORRUPT_MESSAGE"


@pytest.mark.parametrize(
    "timestamps", [((1 << 63) - 2, (1 << 63) + 5), (-(1 << 63), -(1 << 63) - 1)]
)
async def test_times_beyond_64_bits_are_corrupt(
    broker: Broker, timestamps: tuple[int, int]
) -> None:
    await write(broker, timed_batch(*timestamps, max_timestamp=(1 << 63) - 1))
    assert await refused(broker, GREATEST_TIMESTAMP) == "CORRUPT_MESSAGE"


async def test_record_that_says_it_is_another_one_is_corrupt(broker: Broker) -> None:
    await write(broker, timed_batch(100, 200, offset_deltas=(0, 7)))
    assert await refused(broker, 150) == "CORRUPT_MESSAGE"
    assert await found(broker, 100) == (0, 100, 5)
