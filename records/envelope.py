"""One row of the log: a record with its position and origin."""

from msgspec.structs import replace

from records.base import Record


class Origin(Record, frozen=True, kw_only=True):
    """Origin of a batch: the principal and request that caused it, and the given reason."""

    principal: str | None = None
    request_id: str | None = None
    request_hash: bytes | None = None
    command: str | None = None
    reason: str | None = None
    trace_parent: str | None = None
    client: str | None = None


def without_id(origin: Origin | None) -> Origin | None:
    """Return an origin without the request id, which only the last batch of a request has."""
    if origin is None or (origin.request_id is None and origin.request_hash is None):
        return origin
    return replace(origin, request_id=None, request_hash=None)


class UnknownTag(Record, frozen=True, kw_only=True):
    """A tagged field that this release does not know."""

    path: str
    tag: int
    value: bytes


class Extra(Record, frozen=True, kw_only=True):
    """Content of an imported record beyond the fields known to this release."""

    unknown_tags: tuple[UnknownTag, ...] = ()
    batch_header: bytes | None = None
    raw_record: bytes | None = None


class SecretReference(Record, frozen=True, kw_only=True):
    """Where to find a secret that was left out of a logged request (`Asked`).

    `path` is the place of the secret in the request or response. `record_index` is the index, among
    the records of the same decision, of the record that contains the secret; None if no record
    does.
    """

    path: str
    record_index: int | None = None
    field: str | None = None


class Asked(Record, frozen=True, kw_only=True):
    """A logged request: its content, the other inputs of the decision, and the response.

    `seed` and `observed` are the inputs besides the request and the log. `request`, `observed` and
    `response` are MessagePack (docs/log_format.md); secrets in them are null. `omitted_bytes` is
    set if these fields were too large to be stored.
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
    """Offsets of the last record that changed an object and of the record that created it."""

    version: int
    created: int | None = None


class Envelope(Record, frozen=True, kw_only=True):
    """One row of the log.

    `offset` counts from 0 (in a checkpoint: within the file). `timestamp` is the batch's append
    time in ms since 1970. `durable_end` and `previous_crc32c` are set on a batch's first record
    only; docs/log_format.md explains what they prove. `asked` is set on the first record of a
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
