"""A batch: the records of one append, which take effect together; and the result of an append."""

import hashlib
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from records.avro.plain_rows import encode_records
from records.base import Record
from records.control import NoOpRunRecord
from records.envelope import Asked, Envelope, Origin
from records.registry import newest_versions


class Batch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The rows of a batch as read from the log, in order.

    All rows share the leader epoch, the append time (ms since 1970) and the base offset.
    `end_offset` is exclusive: the offset after the last row, or after the end of the run if the
    last row is a NoOpRunRecord.
    """

    base_offset: int
    end_offset: int
    leader_epoch: int
    timestamp: int
    rows: tuple[Envelope, ...]

    @classmethod
    def of(cls, rows: Sequence[Envelope]) -> "Batch":
        """Build a batch from its rows, without checking that all rows belong to one batch."""
        first, last = rows[0], rows[-1]
        return cls(
            base_offset=first.batch_offset,
            end_offset=last.offset + offsets_covered(last.payload),
            leader_epoch=first.leader_epoch,
            timestamp=first.timestamp,
            rows=tuple(rows),
        )

    def times_at(self, offset: int) -> tuple[int, int]:
        """Return the earliest and the latest possible append time of an offset of this batch, ms.

        They differ only inside a run of NoOps: the log keeps only the run's first and last time.
        """
        last = self.rows[-1]
        if not isinstance(last.payload, NoOpRunRecord) or offset <= last.offset:
            return self.timestamp, self.timestamp
        latest = last.payload.last_timestamp
        return (latest if offset == self.end_offset - 1 else self.timestamp), latest


def latest_time(row: Envelope) -> int:
    """Return the highest append time in a row, ms since 1970; a run of NoOps has several times."""
    payload = row.payload
    if isinstance(payload, NoOpRunRecord):
        return max(row.timestamp, payload.last_timestamp)
    return row.timestamp


class EncodedRows(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of a batch after the first one, encoded for a given position, epoch and time.

    The first row is not included: the log completes and encodes it when it writes the batch.
    """

    base_offset: int
    leader_epoch: int
    timestamp: int
    count: int
    rows: bytes

    def fits(self, base_offset: int, leader_epoch: int, timestamp: int) -> bool:
        """True if the rows were encoded for this position, epoch and time."""
        place = self.base_offset, self.leader_epoch, self.timestamp
        return place == (base_offset, leader_epoch, timestamp)


class NewBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Records to append to a log, which assigns their offsets, epoch and time.

    `record_versions` are the layout versions of the records; None means the newest of each type.
    `timestamp` is the time of the decision (ms since 1970); None means the log's own clock. The log
    never writes a time below that of the previous batch. `asked` is stored on the first record.
    `rows` and `encoded` are the same records prepared in advance, as rows and in encoded form; the
    log uses them if the batch gets the position, epoch and time for which they were prepared.
    `payloads` are the same records in the encoded form that `records.avro.plain_rows` read; they
    are written without encoding them again.
    """

    records: tuple[Record, ...]
    origin: Origin | None = None
    record_versions: tuple[int, ...] | None = None
    timestamp: int | None = None
    asked: Asked | None = None
    rows: tuple[Envelope, ...] = ()
    encoded: EncodedRows | None = None
    payloads: tuple[bytes, ...] = ()

    def identified(self) -> "NewBatch":
        """Return the batch with a hash of its records, if it has a request id without a hash.

        The hash distinguishes a repetition from another request with the same id. It is empty for
        records that cannot be encoded: appending them fails later, with the reason. A batch that
        a controller prepared stays as it is: the controller hashes whole requests.
        """
        origin = self.origin
        if not isinstance(origin, Origin) or self.rows:
            return self
        if origin.request_id is None or origin.request_hash is not None:
            return self
        try:
            versions = self.record_versions or newest_versions(self.records)
            rows = encode_records(self.records, versions, payloads=self.payloads)
            found = hashlib.sha256(rows).digest()
        except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
            found = b""
        return replace(self, origin=replace(origin, request_hash=found))

    def placed(
        self, base_offset: int, leader_epoch: int, timestamp: int
    ) -> tuple[Sequence[Envelope], EncodedRows | None]:
        """Return the batch's rows with the given base offset, leader epoch and time.

        Returns:
            All rows and None; or, if `encoded` was made for these values, the first row and
            `encoded`, which has the other rows.

        Raises:
            TypeError, ValueError: the fields do not form a valid batch.
        """
        encoded = self.encoded
        if encoded is not None and not encoded.fits(base_offset, leader_epoch, timestamp):
            encoded = None
        if self.rows and _place(self.rows[0]) == (base_offset, leader_epoch, timestamp):
            return self.rows if encoded is None else self.rows[:1], encoded
        records = self.records if encoded is None else self.records[:1]
        versions = self.record_versions or newest_versions(records)
        rows = [
            Envelope(
                offset=base_offset + index,
                leader_epoch=leader_epoch,
                timestamp=timestamp,
                batch_offset=base_offset,
                record_version=version,
                origin=self.origin,
                asked=self.asked if index == 0 else None,
                payload=record,
            )
            for index, (record, version) in enumerate(
                zip(records, versions, strict=encoded is None)
            )
        ]
        return rows, encoded


def _place(first: Envelope) -> tuple[int, int, int]:
    return first.offset, first.leader_epoch, first.timestamp


def offsets_covered(record: Record) -> int:
    """Return the number of offsets a record takes: 1, or `count` for a NoOpRunRecord."""
    return record.count if isinstance(record, NoOpRunRecord) else 1


class AppendResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Offsets and time of a committed batch. `end_offset` is exclusive, `timestamp` in ms since
    1970.
    """

    base_offset: int
    end_offset: int
    leader_epoch: int
    timestamp: int
