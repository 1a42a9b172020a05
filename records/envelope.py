"""One row of the log: a record, where it stands, and who caused it."""

from records.base import Record


class Origin(Record, frozen=True, kw_only=True):
    """Who caused a batch, and why."""

    principal: str | None = None
    request_id: str | None = None
    request_hash: bytes | None = None
    command: str | None = None
    reason: str | None = None
    trace_parent: str | None = None
    client: str | None = None


class UnknownTag(Record, frozen=True, kw_only=True):
    """A tagged field that this release does not know."""

    path: str
    tag: int
    value: bytes


class Extra(Record, frozen=True, kw_only=True):
    """What an imported record's source held beyond its known fields."""

    unknown_tags: tuple[UnknownTag, ...] = ()
    batch_header: bytes | None = None
    raw_record: bytes | None = None


class Envelope(Record, frozen=True, kw_only=True):
    """One row of the log.

    `offset` counts from 0 (in a checkpoint: within the file). `timestamp` is the batch's append
    time in ms since 1970. `durable_end` and `previous_crc32c` stand on a batch's first record
    only; docs/log_format.md says what they prove.
    """

    offset: int
    leader_epoch: int
    timestamp: int
    batch_offset: int
    record_version: int
    origin: Origin | None = None
    durable_end: int | None = None
    previous_crc32c: int | None = None
    extra: Extra | None = None
    payload: Record
