"""Summary of a log: its kind, its bounds, its size, and its writer."""

import msgspec
from msgspec import UNSET, UnsetType

from api.questions.past import Past
from api.questions.question import Computed, Question
from metadata_log.format.parts import EarlierPart, earlier_parts
from replay.about import About, not_counted
from replay.lag import Lag, lag_behind
from replay.not_understood import UnknownKind, unknown_kinds


class ShowInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the summary of a log as of its end."""


class LogInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of a log.

    Attributes:
        kind: `own` or `mirror`.
        confirmed_end: End of the confirmed records, exclusive; Kafka may still replace a mirror's
            later records.
        mark: Sequence number of the commit mark.
        writer_process: Process id of the writer, None if there is none.
        latest_timestamp: Append time of the latest record, ms since 1970; None in an empty log.
        clock_difference_ms: `latest_timestamp` minus this machine's time; normally negative,
            positive if the record's time is in the future.
        snapshots: Lag of the newest usable snapshot; None if there is none.
        sql_history: Lag of the SQL history, in the log's directory or in the database in which the
            service keeps it; None if there is none.
        unknown: The kinds of records that this release does not understand; set only if there are
            any.
        earlier_parts: The earlier parts of the recording, oldest first, and the gap after each; set
            only if there are any.
    """

    kind: str
    cluster_id: str
    start_offset: int
    confirmed_end: int
    mark: int
    leader_epoch: int
    segments: int
    bytes: int
    writer_process: int | None
    latest_timestamp: int | None
    clock_difference_ms: int | None
    snapshots: Lag | None = None
    sql_history: Lag | None = None
    unknown: tuple[UnknownKind, ...] | UnsetType = UNSET
    earlier_parts: tuple[EarlierPart, ...] | UnsetType = UNSET


def info_shown(past: Past, at: int, request: ShowInfo) -> Computed:
    """Return the summary of a log; damage in records that the summary does not need is ignored."""
    from metadata_log.files.lock import writer_process
    from metadata_log.writer.clock import SystemClock

    reader = past.reader
    mark, directory = reader.mark, reader.local_directory
    about = _about(past, at)
    latest = reader.latest_timestamp()
    answer = LogInfo(
        kind=reader.kind.value,
        cluster_id=reader.cluster_id,
        start_offset=reader.start_offset,
        confirmed_end=reader.confirmed_end,
        mark=mark.sequence,
        leader_epoch=mark.leader_epoch,
        segments=len(reader.segment_paths),
        bytes=reader.size_bytes(),
        writer_process=writer_process(directory) if directory else None,
        latest_timestamp=latest,
        clock_difference_ms=None if latest is None else latest - SystemClock().now_ms(),
        snapshots=_lag(past, past.timeline.newest_snapshot_end() or None),
        sql_history=_lag(past, past.timeline.sql_history_end()),
        unknown=tuple(unknown_kinds(reader, at)) if about.not_understood else UNSET,
        earlier_parts=earlier_parts(reader.fs, reader.directory) or UNSET,
    )
    return Computed(answer=answer, about=lambda: about)


def _lag(past: Past, end_offset: int | None) -> Lag | None:
    if end_offset is None:
        return None
    return lag_behind(past.reader, past.reader.latest_timestamp(), end_offset)


def _about(past: Past, at: int) -> About:
    if past.reader.local_directory is None:
        return not_counted(past.place(at), "that would fetch all segments of the archive")
    return past.about(at)


INFO = Question(name="info", request=ShowInfo, answer=LogInfo, tell=info_shown)
