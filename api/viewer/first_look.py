"""A first look at a log: what can be said of it before its records are read."""

from contextlib import suppress

from api.http.known_log import KnownLog, KnownState
from metadata_log.format.parts import earlier_parts
from metadata_log.reader.log_reader import LogReader
from records.errors import CorruptLogError
from replay.image.metadata import MetadataImage
from replay.incidents.health import health_of


def first_look(reader: LogReader, log: str) -> KnownLog | None:
    """Return what the files of a log say, in O(segments) time; None for one that is elsewhere.

    Args:
        log: The log as given on the command line.
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
    """Return what a snapshot says of its cluster, in O(partitions) time."""
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
