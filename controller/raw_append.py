"""Raw appends: records sent by a client as they are, without a command.

They go through the same loop as every decision and are checked thoroughly: replay must accept them,
and the objects they affect must keep the invariants.
"""

from collections.abc import Callable
from functools import partial

import msgspec

from controller.affected import Affected
from controller.batch_check import rows_of
from controller.checked_batch import CheckedBatch
from controller.decisions.context import USER_OPERATION_RECORDS_MAX, Context, TooLargeError
from controller.decisions.ids import can_be_id
from controller.decisions.names import check_namespace_name, check_topic_name, tiers
from controller.decisions.record_levels import feature_in_use, first_missing_level
from controller.decisions.replica_deletions import deletion_states
from controller.decisions.replica_states import check_deletion
from controller.decisions.versions import ExpectedVersion, check_version
from controller.invariants.checks import check_affected, check_step
from controller.request import Request
from controller.result import ControllerResult
from metadata_log.batch import Batch
from metadata_log.block import encode_ahead
from records import control
from records.avro import codec
from records.base import Record
from records.configs import ConfigRecord, FeatureLevelRecord
from records.envelope import Envelope
from records.errors import CorruptLogError, RequestError
from records.partitions import ReplicaDeletionRecord
from records.text import uuid_text
from records.topics import MoveTopicRecord, NamespaceRecord, RemoveNamespaceRecord, TopicRecord
from replay.image.configs import NAMESPACE, TOPIC
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance

# Records about the log itself, and transaction markers; only the log and the controller write them.
_NOT_FOR_CALLERS: frozenset[type[Record]] = frozenset(
    {
        control.LeaderChangeMessage,
        control.SnapshotHeaderRecord,
        control.SnapshotFooterRecord,
        control.KRaftVersionRecord,
        control.VotersRecord,
        control.BeginTransactionRecord,
        control.EndTransactionRecord,
        control.AbortTransactionRecord,
        control.NoOpRunRecord,
        control.UnknownRecord,
    }
)


class AppendRecords(msgspec.Struct, frozen=True, kw_only=True):
    """Records to append as one batch.

    `expected_end_offset`: the log must end there, batches in flight included.
    `expected_versions`: versions that objects must have.
    """

    records: tuple[Record, ...]
    expected_end_offset: int | None = None
    expected_versions: tuple[ExpectedVersion, ...] = ()


# omit_defaults: servers of earlier releases refuse fields that they do not know.
class AppendRows(Request["Appended"], frozen=True, kw_only=True, omit_defaults=True):
    """`AppendRecords` in the form sent over a connection.

    `rows`: `count` records in Avro, as in a block of a segment. `request_hash`: with the request's
    id it identifies a repeated request, over any connection.
    """

    rows: bytes
    count: int
    expected_end_offset: int | None = None
    request_hash: bytes | None = None
    expected_versions: tuple[ExpectedVersion, ...] = ()

    def records(self) -> tuple[Record, ...]:
        """Return the records.

        Raises:
            RequestError: INVALID_REQUEST, the bytes are not `count` rows.
        """
        try:
            rows = codec.decode_rows(self.rows, self.count, codec.AS_APPENDED)
        except CorruptLogError as error:
            raise RequestError("INVALID_REQUEST", f"the rows cannot be read: {error}") from error
        return tuple([row.payload for row in rows])


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """Position of the records, [base_offset, end_offset), and their append time, ms since 1970."""

    base_offset: int
    end_offset: int
    timestamp: int


def append_records(context: Context, request: AppendRecords) -> ControllerResult[Appended]:
    """Append records.

    A refusal for one record begins with `record N of COUNT: `, counted from 1.

    Raises:
        RequestError: INVALID_UPDATE_VERSION, the log or an object is not as expected;
            INVALID_RECORD, a record holds a value that is not of its field's type, contradicts
            the state before it, breaks an invariant, or is not for callers to write;
            INVALID_REQUEST, there is none; POLICY_VIOLATION, there are too many, or too many bytes.
    """
    if not request.records:
        raise RequestError("INVALID_REQUEST", "there is no record to append")
    if len(request.records) > USER_OPERATION_RECORDS_MAX:
        raise TooLargeError
    _check_end(context, request.expected_end_offset)
    for expected in request.expected_versions:
        check_version(context.image, expected)
    _each(request.records, _check_author)
    _check_deletions(context, request.records)
    checked = _check_effect(context, request.records)
    end_offset = context.next_offset + len(request.records)
    appended = Appended(
        base_offset=context.next_offset, end_offset=end_offset, timestamp=context.now_ms
    )
    return ControllerResult(response=appended, records=request.records, checked=checked)


def append_rows(context: Context, request: AppendRows) -> ControllerResult[Appended]:
    """Append records received over a connection; as `append_records`."""
    return append_records(
        context,
        AppendRecords(
            records=request.records(),
            expected_end_offset=request.expected_end_offset,
            expected_versions=request.expected_versions,
        ),
    )


def _each(records: tuple[Record, ...], check: Callable[[Record], None]) -> None:
    """Check the records one by one; a refusal names the record."""
    for index, record in enumerate(records):
        try:
            check(record)
        except RequestError as error:
            raise _invalid(f"{_place(index, len(records))}{error}") from None


def _place(index: int, count: int) -> str:
    return f"record {index + 1} of {count}: "


def _check_author(record: Record) -> None:
    if type(record) in _NOT_FOR_CALLERS:
        raise _invalid(f"{type(record).__name__} is not for callers to write")


def _check_end(context: Context, expected: int | None) -> None:
    if expected is not None and expected != context.next_offset:
        raise RequestError(
            "INVALID_UPDATE_VERSION",
            f"the log ends at {context.next_offset}, expected {expected}",
        )


def _check_deletions(context: Context, records: tuple[Record, ...]) -> None:
    if not any(isinstance(record, ReplicaDeletionRecord) for record in records):
        return  # without a look at all deletions that are under way
    states: dict[tuple[object, ...], int] = dict(deletion_states(context.image).items())
    for record in records:
        if isinstance(record, ReplicaDeletionRecord):
            key = (record.topic_id, record.partition_id, record.broker_id)
            registered = context.image.broker(record.broker_id) is not None
            check_deletion(states.get(key), record.state, registered=registered)
            states[key] = record.state


def _check_effect(context: Context, records: tuple[Record, ...]) -> CheckedBatch:
    """Encode and replay the records, and check what they affect.

    Violations that existed before, as in a log of other origin, are no reason to refuse.
    """
    rows = rows_of(context, records)
    encoded = encode_ahead(rows)
    _check_levels(context, records)
    before, after = context.image, _replayed(context, rows)
    _each(records, _check_name)
    _each(records, partial(_check_surroundings, after))
    _check_namespaces_left(after, records)
    _check_features_left(after, records)
    affected = Affected()
    affected.add(records)
    for broker_id in affected.broker_ids:
        affected.add_partitions(context.index.partitions_on(before, broker_id))
    known = set(check_affected(before, affected))
    for violation in (*check_affected(after, affected), *check_step(before, after, affected)):
        if violation not in known:
            raise _invalid(f"the records would break an invariant, {violation}")
    return CheckedBatch(batch=Batch.of(rows), encoded=encoded, after=after)


def _check_levels(context: Context, records: tuple[Record, ...]) -> None:
    """Refuse a record whose feature level is not finalized when its turn comes."""
    missing = first_missing_level(context.image.features(), records)
    if missing is not None:
        index, name, level = missing
        raise _invalid(
            f"{_place(index, len(records))}{type(records[index]).__name__} needs the feature "
            f"{name} at level {level}; run `metalog features upgrade {name}={level}` first"
        )


def _check_features_left(after: MetadataImage, records: tuple[Record, ...]) -> None:
    """Refuse to remove a feature while the image holds objects that need it."""
    changed = {record.name for record in records if isinstance(record, FeatureLevelRecord)}
    for name in sorted(changed):
        if not after.feature(name) and feature_in_use(after, name):
            raise _invalid(f"objects that need the feature {name} are left")


def _check_surroundings(after: MetadataImage, record: Record) -> None:
    """Check whole-image invariants for the objects that one record names."""
    match record:
        case ConfigRecord(resource_type=resource_type, resource_name=name, value=str()):
            if resource_type == TOPIC and after.topic_by_full_name(name) is None:
                raise _invalid(f"configs of topic {name!r}, which does not exist")
            if resource_type == NAMESPACE and after.namespace_by_name(name) is None:
                raise _invalid(f"configs of namespace {name!r}, which does not exist")
        case NamespaceRecord(name=name):
            missing = [tier for tier in tiers(name) if after.namespace_by_name(tier) is None]
            if missing:
                raise _invalid(f"namespace {name!r} without {missing[0]!r} above it")
    match record:
        case TopicRecord(topic_id=new_id) | NamespaceRecord(namespace_id=new_id):
            if not can_be_id(new_id):
                raise _invalid(f"{uuid_text(new_id)} cannot be an id")


def _check_namespaces_left(after: MetadataImage, records: tuple[Record, ...]) -> None:
    """Refuse to remove a namespace that has others below it, or configs; O(all of these)."""
    if not any(isinstance(record, RemoveNamespaceRecord) for record in records):
        return
    orphans = [n.name for n in after.namespaces() if _lacks_a_tier(after, n.name)]
    if orphans:
        raise _invalid(f"namespace {min(orphans)!r} would have nothing above it")
    for (resource_type, name), _ in after.configs():
        if resource_type == NAMESPACE and after.namespace_by_name(name) is None:
            raise _invalid(f"namespace {name!r} still has configs")


def _check_name(record: Record) -> None:
    """Refuse a name that no command allows, because brokers use names as folder names."""
    match record:
        case TopicRecord(name=name) | MoveTopicRecord(name=name):
            check_topic_name(name)
        case NamespaceRecord(name=name):
            check_namespace_name(name)


def _lacks_a_tier(image: MetadataImage, name: str) -> bool:
    return any(image.namespace_by_name(tier) is None for tier in tiers(name))


def _replayed(context: Context, rows: list[Envelope]) -> MetadataImage:
    delta = MetadataDelta(context.image)
    for row in rows:
        try:
            delta.replay(row)
        except CorruptLogError as error:
            index, said = row.offset - rows[0].offset, f"offset {row.offset}: "
            where = _place(index, len(rows))
            raise _invalid(f"{where}{str(error).removeprefix(said)}") from None
    return delta.apply(
        Provenance(
            offset=rows[-1].offset,
            leader_epoch=context.image.provenance.leader_epoch,
            timestamp=context.now_ms,
        )
    )


def _invalid(reason: str) -> RequestError:
    return RequestError("INVALID_RECORD", reason)
