"""Position in the log that an answer refers to."""

from typing import Protocol

import msgspec
from msgspec import UNSET, UnsetType

from metadata_log.format.parts import Gap
from replay.image.metadata import MetadataImage
from replay.image.provenance import NotUnderstood, Provenance
from replay.loader import BatchSource


class Bounded(Protocol):
    """Interface of a log that knows its bounds, and which of its records are final."""

    @property
    def history_start(self) -> int:
        """Return the offset of the first record of the kept history."""
        ...

    @property
    def end_offset(self) -> int:
        """Return the end of the log, exclusive."""
        ...

    @property
    def confirmed_end(self) -> int:
        """Return the exclusive end of the final records; Kafka may replace later records."""
        ...


class ConfirmedSource(BatchSource, Bounded, Protocol):
    """Interface of a log that can be read, and knows which of its records are final."""


class Bounds(msgspec.Struct, frozen=True):
    """The bounds of a log, given as plain values instead of an open log."""

    history_start: int
    end_offset: int
    confirmed_end: int


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A record that was left out because it contradicts the state before it."""

    offset: int
    type: str
    text: str


class About(msgspec.Struct, frozen=True, kw_only=True):
    """The log and the offset that an answer refers to.

    Attributes:
        as_of: Last offset that the answer takes into account, inclusive.
        from_: First offset of a comparison or a range that ends at `as_of`; named `from` in JSON.
        history_start: First offset of the kept history, which follows the base state.
        log_end: End of the log, exclusive.
        not_understood: Records up to `as_of` that this release does not fully understand; None if
            there are none; not set if they were not counted.
        not_counted: The reason why `not_understood` is not set; set only in that case.
        as_of_timestamp: Append time at `as_of`, ms since 1970; None for the state before all
            records.
        as_of_timestamp_max: Latest possible append time at `as_of`, ms since 1970; set only inside
            a run of NoOps whose times were not kept. `as_of_timestamp` is the earliest possible.
        confirmed_end: End of the final records, exclusive; set only for a mirror with records
            after it, which Kafka may still replace.
        mid_batch: Set (True) only if the batch at `as_of` continues after `as_of`.
        pending_transaction: Offset of the open transaction's Begin, if there is one.
        left_out: The records up to `as_of` that were left out because of contradictions; set only
            if the request allows leaving out records.
        node: The node of a shared log that answered; set only if the node is a standby.
        lag_ms: How old the standby's knowledge of the log's end is.
        gap: The gap before the log's history, if earlier records are in another part of the
            recording, which the answer does not include.
        read_as: The absolute time that each relative point, such as `02:00`, was read as.
        no_records: Why the range of the answer has no records, in words; set only in that case.
    """

    from_: int | UnsetType = msgspec.field(default=UNSET, name="from")
    as_of: int
    history_start: int
    log_end: int
    not_understood: NotUnderstood | UnsetType | None = None
    not_counted: str | UnsetType = UNSET
    as_of_timestamp: int | UnsetType | None = UNSET
    as_of_timestamp_max: int | UnsetType = UNSET
    confirmed_end: int | UnsetType = UNSET
    mid_batch: bool | UnsetType = UNSET
    pending_transaction: int | UnsetType = UNSET
    left_out: tuple[LeftOut, ...] | UnsetType = UNSET
    node: int | UnsetType = UNSET
    lag_ms: int | UnsetType = UNSET
    gap: Gap | UnsetType = UNSET
    read_as: dict[str, str] | UnsetType = UNSET
    no_records: str | UnsetType = UNSET


def not_counted(about: About, reason: str) -> About:
    """Return `about` with `not_counted` set to the reason and `not_understood` unset."""
    return msgspec.structs.replace(about, not_understood=UNSET, not_counted=reason)


def about_image(source: ConfirmedSource, image: MetadataImage, at: int) -> About:
    """Return the position of an answer that was computed from the image as of offset `at`."""
    return about_provenance(source, image.provenance, at)


def about_provenance(source: Bounded, found: Provenance, at: int) -> About:
    """Return the position of an answer, given the provenance of the image as of offset `at`."""
    pending = found.pending_transaction
    is_confirmed = source.confirmed_end >= source.end_offset
    return About(
        as_of=at,
        history_start=source.history_start,
        log_end=source.end_offset,
        not_understood=found.not_understood,
        as_of_timestamp=None if found.offset is None else found.timestamp,
        confirmed_end=UNSET if is_confirmed else source.confirmed_end,
        mid_batch=True if found.mid_batch else UNSET,
        pending_transaction=UNSET if pending is None else pending,
    )
