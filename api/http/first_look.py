"""A first look at a log: what can be said of it at once, before its records are read and after."""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
from litestar import Request, Response
from msgspec.structs import replace

from api.http.known_log import KnownLog, KnownState
from api.http.request import JSON, Call, call_of, shared_state
from controller.authorization.authorizer import CLUSTER, Operation
from metadata_log.format.parts import earlier_parts
from metadata_log.reader.log_reader import LogReader
from records.errors import CorruptLogError
from replay.image.metadata import MetadataImage
from replay.incidents.health import health_of

PATH = "/v1/report/known"


async def known(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return the `KnownLog` that a page shows until its columns come.

    Null if nothing is known, or the caller may not describe the cluster. Takes O(partitions) time,
    while the columns of a long log take seconds.

    Raises:
        RequestError: the caller may not act as another.
        UnavailableError: the log is being read, and what the caller may see is not known yet.
    """
    shared = shared_state(request.scope)
    if shared.service is None and shared.known is not None:
        return Response(msgspec.json.encode(shared.known), media_type=JSON)
    call = call_of(request.scope)
    found = None
    if call.service.access(call.acting_caller()).allows(Operation.DESCRIBE, CLUSTER):
        log = shared.log or shared.kafka_url(call.headers)
        found = await asyncio.to_thread(_known_now, call, log)
    return Response(msgspec.json.encode(found), media_type=JSON)


def _known_now(call: Call, log: str) -> KnownLog | None:
    with call.service.reader() as reader:
        found = first_look(reader, log)
    return None if found is None else replace(found, state=known_state(call.service.image))


def first_look(reader: LogReader, log: str) -> KnownLog | None:
    """Return what the files of a log say, in O(segments) time; None for one that is elsewhere.

    Args:
        log: The log as given on the command line, or the address of its service.
    """
    # Of an archive or a backup, whole segments would be fetched.
    if reader.local_directory is None:
        return None
    parts = earlier_parts(reader.fs, reader.directory)
    return KnownLog(
        log=log,
        cluster_id=reader.cluster_id,
        log_end=reader.end_offset,
        from_time=_first_time(reader),
        to_time=reader.latest_timestamp(),
        segments=len(reader.segment_paths),
        bytes=reader.size_bytes(),
        gaps=tuple([part.gap for part in parts]),
    )


def _first_time(reader: LogReader) -> int | None:
    with suppress(CorruptLogError):
        for batch in reader.batches():
            return batch.timestamp
    return None


def known_state(image: MetadataImage) -> KnownState:
    """Return what is known of a cluster in a state, in O(partitions) time."""
    health = health_of(image)
    brokers = list(image.brokers())
    return KnownState(
        as_of=image.provenance.next_offset - 1,
        brokers=len(brokers),
        fenced=sum(broker.fenced for broker in brokers),
        controllers=tuple(sorted(each.controller_id for each in image.controllers())),
        topics=len(list(image.topics())),
        partitions=health.partitions,
        leaderless=health.leaderless,
        under_replicated=health.under_replicated,
    )
