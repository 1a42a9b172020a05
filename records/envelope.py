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


class SecretReference(Record, frozen=True, kw_only=True):
    """Where a secret that was left out of an `Asked` can be found.

    `path` leads to the place in the request or response. `record_index` counts the records of the
    same decision; it is None when no record holds the secret.
    """

    path: str
    record_index: int | None = None
    field: str | None = None


class Asked(Record, frozen=True, kw_only=True):
    """What was asked for, and everything the decision used beside the log itself.

    `request`, `observed` and `response` are MessagePack (docs/log_format.md); secrets in them are
    null. `omitted_bytes` is set when they were too large to be kept.
    """

    command: str
    version: int
    request: bytes | None = None
    seed: int | None = None
    observed: bytes | None = None
    response: bytes | None = None
    omitted_bytes: int | None = None
    secrets: tuple[SecretReference, ...] = ()


class Kept(Record, frozen=True, kw_only=True):
    """Offsets of the last record that touched an object, and of the one that created it."""

    version: int
    created: int | None = None


class Envelope(Record, frozen=True, kw_only=True):
    """One row of the log.

    `offset` counts from 0 (in a checkpoint: within the file). `timestamp` is the batch's append
    time in ms since 1970. `durable_end` and `previous_crc32c` stand on a batch's first record
    only; docs/log_format.md says what they prove. `asked` stands on the first record of a
    decision's first batch only, `kept` only in base checkpoints.
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
    asked: Asked | None = None
    kept: Kept | None = None
    payload: Record
