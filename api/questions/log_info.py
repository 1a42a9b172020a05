"""What a log is: its kind, its bounds, its size, and who writes it."""

import msgspec
from msgspec import UNSET, UnsetType

from api.questions.past import Past
from api.questions.question import Computed, Question
from records.errors import CorruptLogError


class ShowInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Asks what a log is, at its end."""


class LogInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a log is.

    Attributes:
        kind: `own` or `mirror`.
        confirmed_end: Exclusive; what comes after it may still be replaced by Kafka (mirror).
        mark: Sequence number of the commit mark.
        writer_process: Process id of the writer, None without one.
        latest_timestamp: Append time of the latest record, ms since 1970; None in an empty log.
        clock_difference_ms: That time minus this machine's; negative when the clock is ahead, as
            after any pause.
        not_counted: Set only if `not_understood` is not known: the reason.
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
    not_counted: str | UnsetType = UNSET


def info_shown(past: Past, at: int, request: ShowInfo) -> Computed:
    """Return what the log is; also of a damaged one, as far as its records need not be read."""
    from metadata_log.clock import SystemClock
    from metadata_log.lock import writer_process

    reader = past.reader
    mark, directory = reader.mark, reader.local_directory
    latest = mark.max_timestamp or None
    about, not_counted = past.place(at), UNSET if directory else "that would fetch all segments"
    if directory:
        try:
            about = past.about(at)
        except CorruptLogError as error:
            not_counted = str(error)
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
        not_counted=not_counted,
    )
    return Computed(answer=answer, about=lambda: about)


INFO = Question(name="info", request=ShowInfo, answer=LogInfo, tell=info_shown)
