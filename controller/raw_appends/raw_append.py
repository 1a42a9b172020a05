"""Raw appends: records that a client sends itself, instead of a command that makes them.

They go through the same loop as every decision and are checked thoroughly: replay must accept them,
and the objects they affect must keep the invariants.
"""

import msgspec
from msgspec.structs import replace

from controller.decisions.context.context import USER_OPERATION_RECORDS_MAX, Context, TooLargeError
from controller.decisions.request import Request
from controller.decisions.versions import ExpectedVersion, check_version
from controller.descriptions.affected import AFFECTING, Affected
from controller.invariants.checks import check_affected, check_step
from controller.pipeline.prepared_batch import encode, image_after, next_batch
from controller.raw_appends.record_checks import check_after, check_before, invalid, place
from controller.results.decided import Decided
from controller.results.result import ControllerResult
from controller.results.turns import Turns, whole
from records.avro.layout import appended_layouts, first_appended
from records.avro.plain_rows import PlainRows, decode_records
from records.base import Record
from records.configs import ProducerIdsRecord
from records.errors import ContradictionError, CorruptLogError, RequestError
from replay.image.metadata import MetadataImage


class AppendRecords(msgspec.Struct, frozen=True, kw_only=True):
    """A request to append records as one batch.

    `expected_end_offset`: the end offset that the log must have, including batches in flight.
    `expected_versions`: versions that objects must have. `payloads`: the encoded
    records, as in `NewBatch`; empty if they are not encoded yet.
    """

    records: tuple[Record, ...]
    expected_end_offset: int | None = None
    expected_versions: tuple[ExpectedVersion, ...] = ()
    payloads: tuple[bytes, ...] = ()


# omit_defaults: servers of earlier releases refuse fields that they do not know.
class AppendRows(Request["Appended"], frozen=True, kw_only=True, omit_defaults=True):
    """A request to append records, in the form sent over a connection (see `AppendRecords`).

    `rows` has the records, `count` of them, in Avro as in a block of a segment. `request_hash`:
    together with the request's id, it identifies a repeated request over any connection. `schema`:
    the fingerprint of the rows' schema; None means the schema of the first release, in which most
    records have their present form.
    """

    rows: bytes
    count: int
    expected_end_offset: int | None = None
    request_hash: bytes | None = None
    expected_versions: tuple[ExpectedVersion, ...] = ()
    schema: str | None = None

    def plain_rows(self) -> PlainRows:
        """Return the decoded records.

        Raises:
            RequestError: INVALID_REQUEST, the bytes are not `count` rows; or UNSUPPORTED_VERSION,
                their schema is not known.
        """
        layout = first_appended() if self.schema is None else appended_layouts().get(self.schema)
        if layout is None:
            raise RequestError(
                "UNSUPPORTED_VERSION",
                f"the records have schema {self.schema}, which this release does not know",
            )
        try:
            return decode_records(self.rows, self.count, layout)
        except CorruptLogError as error:
            raise RequestError("INVALID_REQUEST", f"the rows cannot be read: {error}") from error


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """Position of the records, [base_offset, end_offset), and their append time, ms since 1970."""

    base_offset: int
    end_offset: int
    timestamp: int


def append_records(context: Context, request: AppendRecords) -> ControllerResult[Appended]:
    """Append records.

    The error for a single record begins with `record N of COUNT: `, counted from 1.

    Raises:
        RequestError: INVALID_UPDATE_VERSION, the log or an object is not as expected;
            INVALID_RECORD, a record has a value of the wrong type, contradicts the state before
            it, breaks an invariant, or has a type that callers may not write;
            INVALID_REQUEST, there are no records; POLICY_VIOLATION, there are too many, or too many
            bytes.
    """
    return whole(append_in_turns(context, request))


def append_in_turns(context: Context, request: AppendRecords) -> Turns[ControllerResult[Appended]]:
    """Append records like `append_records`; many are checked in several turns."""
    if not request.records:
        raise RequestError("INVALID_REQUEST", "there is no record to append")
    if len(request.records) > USER_OPERATION_RECORDS_MAX:
        raise TooLargeError
    _check_end(context, request.expected_end_offset)
    for expected in request.expected_versions:
        check_version(context.image, expected)
    checked = yield from _check_effect(context, request.records, request.payloads)
    end_offset = context.next_offset + len(request.records)
    appended = Appended(
        base_offset=context.next_offset, end_offset=end_offset, timestamp=context.now_ms
    )
    return ControllerResult(response=appended, records=request.records, checked=checked)


def append_rows(context: Context, request: AppendRows) -> ControllerResult[Appended]:
    """Append records received over a connection, like `append_records`."""
    return whole(append_rows_in_turns(context, request))


def append_rows_in_turns(
    context: Context, request: AppendRows
) -> Turns[ControllerResult[Appended]]:
    """Append records like `append_rows`; many are checked in several turns."""
    rows = request.plain_rows()
    if len(rows.records) >= IN_TURNS:
        yield
    wanted = AppendRecords(
        records=rows.records,
        payloads=rows.payloads,
        expected_end_offset=request.expected_end_offset,
        expected_versions=request.expected_versions,
    )
    return (yield from append_in_turns(context, wanted))


def _check_end(context: Context, expected: int | None) -> None:
    if expected is not None and expected != context.next_offset:
        raise RequestError(
            "INVALID_UPDATE_VERSION",
            f"the log ends at {context.next_offset}, expected {expected}; read the records in "
            "between, then append again",
        )


def _check_effect(
    context: Context, records: tuple[Record, ...], payloads: tuple[bytes, ...]
) -> Turns[Decided]:
    """Encode and replay the records, and check the objects they affect.

    Violations that already existed, for example in an imported log, are not refused.
    """
    batch = next_batch(context, records)
    encoded = encode(batch, payloads)
    check_before(context.image, records, batch.types)
    if len(records) >= IN_TURNS:
        yield
    after = _replayed(context, batch)
    check_after(after, records, batch.types)
    if not batch.types.isdisjoint(_OF_INVARIANTS):
        yield from _check_invariants(context, after, records)
    return replace(batch, encoded=encoded, after=after)


_OF_INVARIANTS = AFFECTING | {ProducerIdsRecord}
"""The types of records that can break an invariant."""


IN_TURNS = 2_500
"""Number of records from which each part of the checks takes a turn of the event loop of its own.
All parts together take 5 to 9 us a record."""


def _check_invariants(
    context: Context, after: MetadataImage, records: tuple[Record, ...]
) -> Turns[None]:
    before, affected = context.image, Affected()
    affected.add(records)
    for broker_id in affected.broker_ids:
        affected.add_partitions(context.index.partitions_on(before, broker_id))
    if len(records) >= IN_TURNS:
        yield
    known = set(check_affected(before, affected))
    for check in (check_affected(after, affected), check_step(before, after, affected)):
        if len(records) >= IN_TURNS:
            yield
        for violation in check:
            if violation not in known:
                raise invalid(f"the records would break an invariant, {violation}")


def _replayed(context: Context, batch: Decided) -> MetadataImage:
    try:
        return image_after(context.image, batch)
    except ContradictionError as error:
        raise _contradiction(batch, error) from None


def _contradiction(batch: Decided, error: ContradictionError) -> RequestError:
    record = error.record
    assert record is not None, "replay names the record"
    where = place(record.offset - batch.base_offset, len(batch.records))
    return invalid(f"{where}{record.type}: {error.text}")
