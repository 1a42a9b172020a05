"""What each record becomes in Kafka's form."""

import random
from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from metadata_log.format.batch import Batch
from metadata_log.kraft_format.batch import HEADER_SIZE, parse_header
from metadata_log.kraft_format.batch_codec import decode_batch
from metadata_log.limits import BATCH_RECORDS_MAX, BATCH_SIZE_BYTES_MAX
from records import configs, control, partitions, security, topics
from records.base import Record, Uuid
from records.envelope import Envelope
from records.registry import CONTROL_TYPES, RECORD_TYPES, newest_version, schema
from records.text import uuid_text
from replay.kafka_form.batches import FormBatch, encoded_batches
from replay.kafka_form.mapping import KafkaForm
from replay.kafka_form.names import Names
from tests.histories import random_history

ORDERS, BILLS, OTHER, TEAM = (Uuid(bytes([n] * 16)) for n in range(1, 5))
NO_OP = control.NoOpRecord()


def rows(records: Sequence[Record], start: int = 0) -> list[Envelope]:
    """Return a batch of records."""
    return [
        Envelope(
            offset=start + n,
            leader_epoch=3,
            timestamp=1_000,
            batch_offset=start,
            record_version=newest_version(type(record)),
            payload=record,
        )
        for n, record in enumerate(records)
    ]


def mapped(form: KafkaForm, *records: Record) -> list[Record]:
    """Return the records that a batch becomes."""
    return [row.payload for row in form.mapped(rows(records))]


def decoded(batch: FormBatch) -> list[Envelope]:
    """Decode a batch of the form."""
    return list(decode_batch(batch.content, parse_header(batch.content), 0).rows)


def topic(topic_id: Uuid, name: str, namespace_id: Uuid | None = None) -> Record:
    return topics.TopicRecord(topic_id=topic_id, name=name, namespace_id=namespace_id)


def move(topic_id: Uuid, name: str, namespace_id: Uuid | None = None) -> Record:
    return topics.MoveTopicRecord(topic_id=topic_id, name=name, namespace_id=namespace_id)


def config(name: str, resource_type: int = 2) -> configs.ConfigRecord:
    return configs.ConfigRecord(
        resource_type=resource_type, resource_name=name, name="retention.ms", value="1"
    )


def test_every_type_stays_kafkas_or_becomes_a_noop() -> None:
    history = [r for seed in (1, 2, 3) for r in _payloads(random_history(random.Random(seed), 300))]
    for record in history:
        cls = type(record)
        count = record.count if isinstance(record, control.NoOpRunRecord) else 1
        made = [*encoded_batches(KafkaForm(Names()).mapped(rows([record], 70)))]
        found = [row for batch in made for row in decoded(batch)]
        assert [row.offset for row in found] == [*range(70, 70 + count)], record
        assert {(row.leader_epoch, row.timestamp) for row in found} == {(3, 1_000)}
        allowed = {control.NoOpRecord, cls} if "kafka" in schema(cls.__name__) else {*_FORMS[cls]}
        assert {type(row.payload) for row in found} <= allowed, record
    # A checkpoint's first and last record are in no log.
    left = {*RECORD_TYPES} - {type(record) for record in history}
    assert left == {control.SnapshotHeaderRecord, control.SnapshotFooterRecord}


_FORMS: defaultdict[type[Record], tuple[type[Record], ...]] = defaultdict(
    lambda: (control.NoOpRecord,),
    {control.UnknownRecord: (control.NoOpRecord, control.UnknownRecord)},
)
"""What a record type that Kafka lacks may become."""


def _payloads(history: Sequence[Batch]) -> list[Record]:
    return [row.payload for batch in history for row in batch.rows]


def test_a_topic_in_a_namespace_has_its_full_name() -> None:
    form = KafkaForm(Names())
    created = topics.NamespaceRecord(namespace_id=TEAM, name="shop:orders")
    assert mapped(form, created, topic(ORDERS, "placed", TEAM), config("shop:orders:placed")) == [
        NO_OP,
        topic(ORDERS, "shop:orders:placed"),
        config("shop:orders:placed"),
    ]
    # It names a topic of the default namespace, and there is none of this name.
    assert mapped(form, partitions.ClearElrRecord(topic_name="shop:orders:placed")) == [NO_OP]


def test_a_moved_topic_keeps_its_first_name() -> None:
    form = KafkaForm(Names())
    team = topics.NamespaceRecord(namespace_id=TEAM, name="shop")
    mapped(form, team, topic(ORDERS, "orders"))
    assert mapped(form, move(ORDERS, "bought", TEAM), config("shop:bought")) == [
        NO_OP,
        config("orders"),
    ]
    clear = partitions.ClearElrRecord(topic_name="orders")
    assert mapped(form, clear, config("orders")) == [NO_OP, NO_OP], "no topic has this name now"
    mapped(form, move(ORDERS, "orders"))
    assert mapped(form, clear, config("orders")) == [clear, config("orders")]


def test_a_name_that_a_moved_topic_has_is_not_given_twice() -> None:
    form = KafkaForm(Names())
    mapped(form, topic(ORDERS, "a"), move(ORDERS, "b"))
    second = f"a@{uuid_text(BILLS)}"
    assert mapped(form, config("a"), topic(BILLS, "a"), config("a"), config("b")) == [
        *(config(second), topic(BILLS, second), config(second), config("a"))
    ]
    mapped(form, topics.RemoveTopicRecord(topic_id=ORDERS))
    assert mapped(form, config("a"), topic(OTHER, "b")) == [config(second), topic(OTHER, "b")]
    mapped(form, topics.RemoveTopicRecord(topic_id=BILLS))
    assert mapped(form, topic(ORDERS, "a")) == [topic(ORDERS, "a")]


def test_names_go_back_when_a_transaction_is_aborted() -> None:
    form = KafkaForm(Names())
    mapped(form, topic(ORDERS, "a"))
    begin, abort = control.BeginTransactionRecord(), control.AbortTransactionRecord()
    mapped(form, begin, move(ORDERS, "b"), topic(BILLS, "a"), abort)
    assert mapped(form, topic(OTHER, "b"), config("a")) == [topic(OTHER, "b"), config("a")]
    mapped(form, begin, move(ORDERS, "c"), control.EndTransactionRecord())
    assert mapped(form, config("c")) == [config("a")]


def test_a_mode_is_left_out_and_its_change_still_counts() -> None:
    change = partitions.PartitionChangeRecord(topic_id=ORDERS, partition_id=1, mode=1)
    whole = partitions.PartitionRecord(
        topic_id=ORDERS,
        replicas=(1,),
        isr=(1,),
        removing_replicas=(),
        adding_replicas=(),
        mode=-1,
    )
    assert mapped(KafkaForm(Names()), change, whole, replace(change, leader=2)) == [
        partitions.PartitionChangeRecord(topic_id=ORDERS, partition_id=1),
        replace(whole, mode=0),
        partitions.PartitionChangeRecord(topic_id=ORDERS, partition_id=1, leader=2),
    ]


def test_what_belongs_to_namespaces_is_a_noop() -> None:
    acl = security.AccessControlEntryRecord(
        id=BILLS,
        resource_type=100,
        resource_name="shop",
        pattern_type=3,
        principal="User:ann",
        host="*",
        operation=2,
        permission_type=3,
    )
    removed = security.RemoveAccessControlEntryRecord(id=BILLS)
    form = KafkaForm(Names())
    level = configs.FeatureLevelRecord(name="namespace.version", feature_level=1)
    assert mapped(form, config("shop", 100), acl, removed, level) == [NO_OP] * 4
    on_topic = replace(acl, resource_type=2)
    assert mapped(form, on_topic, removed) == [on_topic, removed]


def test_a_block_is_one_batch_except_where_kafka_has_none_such() -> None:
    change = control.LeaderChangeMessage(version=0, leader_id=1, voters=(), granting_voters=())
    made = [*encoded_batches(rows([change, topic(ORDERS, "a"), topic(BILLS, "b"), change], 5))]
    assert [(each.base_offset, each.end_offset) for each in made] == [(5, 6), (6, 8), (8, 9)]
    assert [type(row.payload) in CONTROL_TYPES for each in made for row in decoded(each)] == [
        *(True, False, False, True)
    ]
    run = control.NoOpRunRecord(count=2 * BATCH_RECORDS_MAX + 1, batch_count=1, last_timestamp=1)
    counts = [each.end_offset - each.base_offset for each in encoded_batches(rows([run], 7))]
    assert counts == [BATCH_RECORDS_MAX, BATCH_RECORDS_MAX, 1]


def test_no_batch_is_larger_than_kafkas() -> None:
    large = replace(config("a"), value="x" * 3_000_000)
    made = [*encoded_batches(rows([large] * 5))]
    assert [each.base_offset for each in made] == [0, 2, 3]
    assert all(len(each.content) <= BATCH_SIZE_BYTES_MAX + HEADER_SIZE for each in made)


def test_a_record_whose_version_lacks_a_field_is_written_in_the_newest() -> None:
    record = partitions.PartitionRecord(
        topic_id=ORDERS,
        replicas=(1,),
        isr=(1,),
        removing_replicas=(),
        adding_replicas=(),
        directories=(BILLS,),
    )
    (row,) = rows([record])
    (made,) = encoded_batches([replace(row, record_version=0)])
    assert [(each.payload, each.record_version) for each in decoded(made)] == [(record, 2)]
