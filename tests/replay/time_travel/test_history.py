"""History and blame: the records that changed an object, and the last one of each field."""

import random

import msgspec
import pytest

from records.base import Record
from records.configs import ClientQuotaRecord, ConfigRecord, EntityData
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    NoteRecord,
)
from records.errors import RequestError
from records.partitions import DeleteTopicPartitionsRecord, ReplicaDeletionRecord
from records.security import UserScramCredentialRecord
from records.text import uuid_text
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.time_travel.history import blame, history
from replay.time_travel.kinds import KINDS
from replay.time_travel.objects import parse_object
from replay.transactions import effective_rows
from tests.histories import random_history
from tests.replay.builders import (
    Base,
    FakeLog,
    batches,
    broker,
    change,
    image_after,
    image_of,
    namespace,
    partition,
    topic,
    uid,
)

ONE_PARTITION = (topic("orders"), partition("orders", 0))


def log_of(*groups: tuple[Record, ...]) -> FakeLog:
    return FakeLog(batches(*groups))


def changes_of(log: FakeLog, name: str) -> list[tuple[int, dict[str, tuple[object, object]]]]:
    return [
        (event.row.offset, {c.field: (c.before, c.after) for c in event.changes})
        for event in history(log, parse_object(name))
    ]


def test_history_shows_each_change_with_the_value_before() -> None:
    log = log_of(ONE_PARTITION, (change("orders", 0, leader=2),), (change("orders", 0, isr=(2,)),))
    assert changes_of(log, "partition:orders/0")[1:] == [
        (2, {"leader": (1, 2), "leader_epoch": (0, 1), "partition_epoch": (0, 1)}),
        (3, {"isr": ([1, 2, 3], [2]), "partition_epoch": (1, 2)}),
    ]


def test_history_of_a_field_leaves_the_others_out() -> None:
    log = log_of(ONE_PARTITION, (change("orders", 0, leader=2),), (change("orders", 0, isr=(2,)),))
    assert changes_of(log, "partition:orders/0#leader") == [
        (1, {"leader": (None, 1)}),
        (2, {"leader": (1, 2)}),
    ]


def test_name_covers_all_lives_and_id_only_one() -> None:
    log = log_of(
        ONE_PARTITION,
        (RemoveTopicRecord(topic_id=uid("orders")),),
        (topic("orders", topic_id="second"),),
    )
    assert [offset for offset, _ in changes_of(log, "topic:orders")] == [0, 1, 2, 3]
    second = f"topic:@{changes_of(log, 'topic:orders')[-1][1]['topic_id'][1]}"
    assert [offset for offset, _ in changes_of(log, second)] == [3]


def test_changes_inside_a_transaction_count_when_it_ends() -> None:
    set_ = ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1")
    begin, end = BeginTransactionRecord(name="x"), EndTransactionRecord()
    committed = log_of(ONE_PARTITION, (begin, set_), (end,))
    assert changes_of(committed, "config:topic/orders") == [(3, {"retention.ms": (None, "1")})]
    aborted = log_of(ONE_PARTITION, (begin, set_), (AbortTransactionRecord(reason="no"),))
    with pytest.raises(RequestError, match="config:topic/orders was never set"):
        changes_of(aborted, "config:topic/orders")


def test_blame_names_the_record_that_last_set_each_field() -> None:
    log = log_of(ONE_PARTITION, (change("orders", 0, leader=2),), (change("orders", 0, isr=(2,)),))
    found = blame(log, parse_object("partition:orders/0"), 3)
    assert {field: last.offset for field, last in found.items()} | {"mode": 1} == {
        "replicas": 1,
        "isr": 3,
        "removing_replicas": 1,
        "adding_replicas": 1,
        "leader": 2,
        "leader_recovery_state": 1,
        "leader_epoch": 2,
        "partition_epoch": 3,
        "directories": 1,
        "eligible_leader_replicas": 1,
        "last_known_elr": 1,
        "mode": 1,
    }
    assert found["leader"].type == "PartitionChangeRecord"


def test_blame_as_of_a_point_does_not_see_what_came_later() -> None:
    log = log_of(ONE_PARTITION, (change("orders", 0, leader=2),), (change("orders", 0, leader=3),))
    assert blame(log, parse_object("partition:orders/0#leader"), 2)["leader"].value == 2


def test_blame_of_a_second_life_does_not_name_records_of_the_first() -> None:
    log = log_of(
        (broker(1),),
        ONE_PARTITION,
        (RemoveTopicRecord(topic_id=uid("orders")),),
        (topic("orders", topic_id="second"),),
    )
    assert {f.offset for f in blame(log, parse_object("topic:orders"), 4).values()} == {4}


def test_blame_of_a_config_that_moved_with_its_topic_names_the_record_that_set_it() -> None:
    set_ = ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1")
    log = log_of(
        (namespace("org"), *ONE_PARTITION),
        (set_,),
        (MoveTopicRecord(topic_id=uid("orders"), namespace_id=uid("org"), name="orders"),),
        (
            set_later := msgspec.structs.replace(
                set_, resource_name="org:orders", name="segment.ms"
            ),
        ),
    )
    for name in ("org:orders", f"@{uuid_text(uid('orders'))}"):
        found = blame(log, parse_object(f"config:topic/{name}"), 5)
        last = found["retention.ms"]
        assert (last.value, last.offset, last.timestamp) == ("1", 3, 3_000), name
        assert (last.type, last.origin) == ("ConfigRecord", None)
        assert found[set_later.name].offset == 5


def test_blame_of_a_moved_config_from_before_the_history_is_unknown() -> None:
    set_ = ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1")
    base = Base(10, (namespace("org"), topic("orders"), set_))
    move = MoveTopicRecord(topic_id=uid("orders"), namespace_id=uid("org"), name="orders")
    log = FakeLog(batches((move,), base_offset=10), base)
    assert not blame(log, parse_object("config:topic/org:orders"), 10)["retention.ms"].known


def test_blame_of_a_config_written_before_its_topic_names_the_config() -> None:
    """Kafka wrote them in this order up to 3.x."""
    set_ = ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1")
    log = log_of((set_, *ONE_PARTITION))
    for name in ("orders", f"@{uuid_text(uid('orders'))}"):
        found = blame(log, parse_object(f"config:topic/{name}"), 2)
        assert found["retention.ms"].offset == 0, name


def test_configs_by_topic_id_go_with_the_topic_and_end_with_it() -> None:
    set_ = ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1")
    log = log_of(
        (namespace("org"), *ONE_PARTITION),
        (set_,),
        (MoveTopicRecord(topic_id=uid("orders"), namespace_id=uid("org"), name="orders"),),
        (RemoveTopicRecord(topic_id=uid("orders")),),
        (topic("orders", topic_id="second"), set_),
    )
    assert changes_of(log, f"config:topic/@{uuid_text(uid('orders'))}") == [
        (3, {"retention.ms": (None, "1")}),
        (5, {"retention.ms": ("1", None)}),
    ]


CUT = FakeLog(
    batches(
        (change("orders", 0, leader=2),),
        (RemoveTopicRecord(topic_id=uid("old")),),
        (topic("late"),),
        base_offset=10,
    ),
    Base(10, (topic("orders"), partition("orders", 0), topic("old"))),
)
ONLY_BASE = FakeLog((), Base(10, (topic("orders"),)))
WHOLE = FakeLog(batches((topic("old"),), (RemoveTopicRecord(topic_id=uid("old")),), (topic("x"),)))


@pytest.mark.parametrize(
    ("log", "name", "at", "code", "message"),
    [
        (WHOLE, "topic:other", 2, "RESOURCE_NOT_FOUND", "never existed: the log holds .* 0 to 2"),
        (WHOLE, "topic:x", 1, "RESOURCE_NOT_FOUND", "not exist yet at offset 1: .* at offset 2"),
        (WHOLE, "topic:x", -1, "RESOURCE_NOT_FOUND", "exist yet before the first record: "),
        (WHOLE, "topic:x#nothing", 2, "RESOURCE_NOT_FOUND", "was never set"),
        (WHOLE, "topic:old", 2, "RESOURCE_GONE", "was removed at offset 1 by a RemoveTopicRecord"),
        (CUT, "topic:other", 12, "UNKNOWN_HISTORY", "history starts at 10"),
        (ONLY_BASE, "topic:other", 9, "UNKNOWN_HISTORY", "history, which holds no records yet: "),
        (CUT, "topic:old", 12, "RESOURCE_GONE", "removed at offset 11 .* shows who did that"),
        (CUT, "topic:late", 11, "RESOURCE_NOT_FOUND", "created at offset 12"),
        (CUT, "topic:orders", 3, "OFFSET_OUT_OF_RANGE", "history starts at 10"),
    ],
)
def test_absent_and_unknown_are_different_answers(
    log: FakeLog, name: str, at: int, code: str, message: str
) -> None:
    for ask in (
        lambda: blame(log, parse_object(name), at),
        lambda: list(history(log, parse_object(name), at + 1, from_offset=at + 1)),
    ):
        with pytest.raises(RequestError, match=message) as refused:
            ask()
        assert refused.value.code == code


def test_what_came_from_before_the_history_has_no_known_setter() -> None:
    found = blame(CUT, parse_object("partition:orders/0"), 10)
    assert found["leader"].known
    assert not found["replicas"].known


def test_history_of_what_stood_still_is_empty() -> None:
    assert changes_of(CUT, "topic:orders") == []


def test_every_object_can_be_asked_for_by_the_name_that_is_printed() -> None:
    names = ("a#b", "100%", "%23", "%2525", "#", "a,b", "a,client-id=b", "<default>", "x/y#z")
    security = [
        UserScramCredentialRecord(
            name=name, mechanism=1, salt=b"", stored_key=b"", server_key=b"", iterations=4096
        )
        for name in names
    ]
    entities = [
        *((EntityData(entity_type="user", entity_name=name),) for name in (*names, None)),
        (
            EntityData(entity_type="user", entity_name="a"),
            EntityData(entity_type="client-id", entity_name="b"),
        ),
    ]
    quotas = [
        ClientQuotaRecord(entity=e, key="producer_byte_rate", value=1.0, remove=False)
        for e in entities
    ]
    groups = [
        ConfigRecord(resource_type=32, resource_name=name, name=f"key{name}", value="1")
        for name in names
    ]
    notes = [NoteRecord(at_offset=0, author=n, text=t) for n in names for t in ("one", "two")]
    log = log_of((*security, *quotas, *groups, *notes))
    image = image_after(log.log)
    for kind in KINDS.values():
        labels = {kind.label(image, key): key for key, _ in kind.objects(image)}
        assert len(labels) == len(list(kind.objects(image)))
        for label, key in labels.items():
            assert parse_object(f"{kind.name}:{label}").key(image) == key
            assert blame(log, parse_object(f"{kind.name}:{label}"), log.end_offset - 1)
    (found,) = changes_of(log, "config:group/a%23b#keya%23b")
    assert found[1] == {"keya#b": (None, "1")}


def test_comma_in_a_name_may_be_typed_as_it_is_where_one_object_is_meant() -> None:
    def quota(*names: tuple[str, str]) -> ClientQuotaRecord:
        entity = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in names)
        return ClientQuotaRecord(entity=entity, key="request", value=1.0, remove=False)

    image = image_of(quota(("user", "CN=ada,OU=x")))
    assert parse_object("quota:user=CN=ada,OU=x/request").fields(image) == {"value": 1.0}


def test_two_notes_of_one_author_at_one_offset_have_two_names() -> None:
    one, two = (NoteRecord(at_offset=0, author="ada", text=text) for text in ("one", "two"))
    image = image_of(one, two)
    kind = KINDS["note"]
    labels = sorted(kind.label(image, key) for key, _ in kind.objects(image))
    assert len(set(labels)) == 2
    found = [parse_object(f"note:{label}").fields(image) for label in labels]
    assert {fields["text"] for fields in found if fields} == {"one", "two"}
    with pytest.raises(RequestError, match=f"2 notes have this .*; give one of note:{labels[0]}, "):
        parse_object("note:0/ada").fields(image)
    single = parse_object("note:0/ada").fields(image_of(one))
    assert single is not None and single["text"] == "one"


def test_removals_and_deletions_take_a_topic_by_name_and_by_id() -> None:
    image = image_of(
        *ONE_PARTITION,
        DeleteTopicPartitionsRecord(
            topic_id=uid("orders"), partition_ids=(0,), delay_ms=5, create_time_ms=0
        ),
        ReplicaDeletionRecord(topic_id=uid("orders"), partition_id=0, broker_id=1, state=1),
    )
    for topic_name in ("orders", f"@{uuid_text(uid('orders'))}"):
        assert parse_object(f"removal:{topic_name}/0").fields(image)
        assert parse_object(f"deletion:{topic_name}/0/1").fields(image)
    gone = image_of(
        ReplicaDeletionRecord(topic_id=uid("gone"), partition_id=0, broker_id=1, state=1)
    )
    assert parse_object(f"deletion:@{uuid_text(uid('gone'))}/0/1").fields(gone)


def test_notes_have_a_history_too() -> None:
    log = log_of((NoteRecord(at_offset=0, author="ada", text="hello"),))
    ((offset, changes),) = changes_of(log, "note:0/ada")
    assert offset == 0
    assert changes["text"] == (None, "hello")


@pytest.mark.parametrize("seed", range(6))
def test_history_of_each_object_adds_up_to_its_state(seed: int) -> None:
    log = FakeLog(random_history(random.Random(100 + seed), 80))
    image = MetadataImage.EMPTY
    for row in effective_rows(log.batches(), 0, log.end_offset):
        delta = MetadataDelta(image)
        delta.replay(row)
        image = delta.apply(Provenance(offset=row.offset))
    rng = random.Random(seed)
    for kind in KINDS.values():
        keys = [key for key, _ in kind.objects(image)]
        for key in rng.sample(keys, min(4, len(keys))):
            name = parse_object(f"{kind.name}:{kind.label(image, key)}")
            fields: dict[str, object] = {}
            for event in history(log, name):
                fields |= {c.field: c.after for c in event.changes}
            left = {field: value for field, value in fields.items() if value is not None}
            wanted = kind.fields(image, key) or {}
            assert left == {f: v for f, v in wanted.items() if v is not None}, name.text
            assert set(blame(log, name, log.end_offset - 1)) == set(wanted)
