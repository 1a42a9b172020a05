"""Fetch requests: the event loop decides which batches may be read, and a thread reads the batches.

There are no fetch sessions: each request lists all its partitions, and the response has session id
0.

Source: KIP-74 (sizes), KIP-227 (sessions).
"""

import asyncio

import msgspec

from api.broker.fencing import Fence
from api.broker.replica import Replica, monotonic_ms
from api.kafka.errors import CODES, code_for
from api.kafka.fields import Response
from api.kafka.large_requests import Turns
from api.kafka.messages.records_io import (
    NOT_A_REPLICA,
    FetchedPartition,
    FetchedTopic,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from records.errors import RequestError

_WAIT_MS_MAX = 60_000
_NO_SESSION = 0

FETCH_SIZE_BYTES_MAX = 55 * 1024 * 1024
"""Kafka's default of `fetch.max.bytes`, and the limit here."""


class _Read(msgspec.Struct, frozen=True):
    """A permitted read of one partition, up to the offset `up_to` (exclusive)."""

    replica: Replica
    wanted: FetchPartition
    up_to: int

    @property
    def is_empty(self) -> bool:
        return self.wanted.fetch_offset >= min(self.up_to, self.replica.log.end_offset)


_Answer = FetchedPartition | _Read


async def fetch(request: FetchRequest, fence: Fence) -> Response:
    """Read batches; if fewer than `min_bytes` are available, wait for more until the deadline."""
    if request.session_id != _NO_SESSION:
        # The session of another process that had this address: the client starts a new one.
        return FetchResponse(error_code=CODES["FETCH_SESSION_ID_NOT_FOUND"])
    loop = asyncio.get_running_loop()
    deadline = loop.time() + min(max(request.max_wait_ms, 0), _WAIT_MS_MAX) / 1_000
    while True:
        moved = [asyncio.ensure_future(r.moved()) for r in await _replicas_of(request, fence)]
        try:
            response = await _read(request, fence)
            left = deadline - loop.time()
            if left <= 0 or not moved or _is_worth(response, request.min_bytes):
                return response
            await asyncio.wait(moved, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in moved:
                task.cancel()


async def _replicas_of(request: FetchRequest, fence: Fence) -> list[Replica]:
    turns = Turns()
    found = []
    for topic in request.topics:
        for partition in topic.partitions:
            await turns.item()
            try:
                replica = fence.replica(topic.topic, topic.topic_id, partition.partition)
            except RequestError:
                continue
            found.append(replica)
    return found


async def _read(request: FetchRequest, fence: Fence) -> FetchResponse:
    turns = Turns()
    answers = []
    for topic in request.topics:
        of_topic = []
        for partition in topic.partitions:
            of_topic.append(_permitted(fence, topic, partition, request.follower))
            await turns.item()
        answers.append(of_topic)
    reads = [a for some in answers for a in some if isinstance(a, _Read) and not a.is_empty]
    contents: dict[int, bytes | None] = {}
    if reads:
        size_max = min(request.max_bytes, FETCH_SIZE_BYTES_MAX)
        contents = await reads[0].replica.disk.run(_read_all, reads, size_max)
        if None in contents.values():
            reads[0].replica.disk.trouble.set()
    return FetchResponse(
        responses=tuple(
            [
                FetchedTopic(
                    topic=topic.topic,
                    topic_id=topic.topic_id,
                    partitions=tuple([_fetched(answer, contents) for answer in some]),
                )
                for topic, some in zip(request.topics, answers, strict=True)
            ]
        )
    )


def _permitted(fence: Fence, topic: FetchTopic, wanted: FetchPartition, replica_id: int) -> _Answer:
    try:
        replica = fence.replica(topic.topic, topic.topic_id, wanted.partition)
        fence.check_readable(topic.topic, wanted.partition)
        replica.check_leader(wanted.current_leader_epoch)
        # A new leader may not know the high watermark yet: it returns nothing from there on,
        # but the offset is valid.
        start, end = replica.log.start_offset, replica.log.end_offset
        if not start <= wanted.fetch_offset <= end:
            # A follower that is below the start begins anew there.
            return FetchedPartition(
                partition_index=wanted.partition,
                error_code=CODES["OFFSET_OUT_OF_RANGE"],
                log_start_offset=start,
            )
    except RequestError as error:
        return FetchedPartition(partition_index=wanted.partition, error_code=code_for(error))
    if replica_id == NOT_A_REPLICA:
        end = replica.high_watermark
    else:
        replica.fetched_by(replica_id, wanted.fetch_offset, monotonic_ms(), wanted.log_start_offset)
    return _Read(replica, wanted, end)


def _read_all(reads: list[_Read], size_bytes_max: int) -> dict[int, bytes | None]:
    """Return a dict from each read's `id()` to the bytes that were read; None if the disk failed.

    Once `size_bytes_max` bytes have been read, the remaining reads are left out.
    """
    contents: dict[int, bytes | None] = {}
    left = size_bytes_max
    for read in reads:
        if left <= 0:
            break
        wanted = read.wanted
        try:
            content = read.replica.log.read(
                wanted.fetch_offset,
                up_to=read.up_to,
                size_bytes_max=min(wanted.partition_max_bytes, left),
            )
        except OSError:
            contents[id(read)] = None
            continue
        contents[id(read)] = content
        left -= len(content)
    return contents


def _fetched(answer: _Answer, contents: dict[int, bytes | None]) -> FetchedPartition:
    if isinstance(answer, FetchedPartition):
        return answer
    records = contents.get(id(answer), b"")
    if records is None:
        code = CODES["KAFKA_STORAGE_ERROR"]
        return FetchedPartition(partition_index=answer.wanted.partition, error_code=code)
    high_watermark = answer.replica.high_watermark
    return FetchedPartition(
        partition_index=answer.wanted.partition,
        high_watermark=high_watermark,
        last_stable_offset=high_watermark,
        log_start_offset=answer.replica.log.start_offset,
        records=records,
    )


def _is_worth(response: FetchResponse, min_bytes: int) -> bool:
    """True if the response can be sent now: it has at least `min_bytes`, or an error."""
    partitions = [p for topic in response.responses for p in topic.partitions]
    if any(partition.error_code for partition in partitions):
        return True
    return sum(len(partition.records or b"") for partition in partitions) >= min_bytes
