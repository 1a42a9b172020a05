"""Descriptions of records in words: no record is described by the name of its class only."""

import random
import re

import pytest

from records.base import Record
from records.brokers import RegisterControllerRecord, UnregisterControllerRecord
from records.configs import ClientQuotaRecord, ConfigRecord, EntityData, ProducerIdsRecord
from records.control import (
    KRaftVersionFeature,
    KRaftVersionRecord,
    QuorumVoter,
    VotersRecord,
)
from records.partitions import ClearElrRecord
from records.security import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    UserScramCredentialRecord,
)
from records.text import uuid_text
from records.topics import NamespaceRecord
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import FakeLog, batches, partition, topic, uid
from tests.samples import cases, sampled

VOTER = QuorumVoter(
    voter_id=3,
    voter_directory_id=uid("disk"),
    endpoints=(),
    kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
)
CONTROLLER = RegisterControllerRecord(
    controller_id=3, incarnation_id=uid("c"), zk_migration_ready=False, end_points=(), features=()
)
QUOTA = ClientQuotaRecord(
    entity=(EntityData(entity_type="user", entity_name="ann"),),
    key="producer_byte_rate",
    value=1.0,
    remove=False,
)
SCRAM = UserScramCredentialRecord(
    name="ann", mechanism=1, salt=b"salt", stored_key=b"stored", server_key=b"key", iterations=4096
)


def acl(name: str) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=uid(name),
        resource_type=2,
        resource_name=name,
        pattern_type=3,
        principal="User:ann",
        host="*",
        operation=3,
        permission_type=3,
    )


WORDS: dict[str, tuple[Record, ...]] = {
    "controller 3 registered, controller 3 was unregistered": (
        CONTROLLER,
        UnregisterControllerRecord(controller_id=3),
    ),
    "kraft.version is 1, the voters are 3": (
        KRaftVersionRecord(version=0, kraft_version=1),
        VotersRecord(version=0, voters=(VOTER,)),
    ),
    "broker 1 was given producer ids up to 1999": (
        ProducerIdsRecord(broker_id=1, next_producer_id=2000),
    ),
    "quota user=ann/producer_byte_rate set": (QUOTA,),
    "scram ann/SCRAM-SHA-256 set": (SCRAM,),
    "1 ACL created (allow User:ann READ on topic:a)": (acl("a"),),
    "2 ACLs created (allow User:ann READ on topic:a, allow User:ann READ on topic:b)": (
        acl("a"),
        acl("b"),
    ),
    "4 ACLs created": (acl("a"), acl("b"), acl("c"), acl("d")),
    "retention.ms of all brokers set": (
        ConfigRecord(resource_type=4, resource_name="", name="retention.ms", value="1"),
    ),
    "namespace shop created": (NamespaceRecord(namespace_id=uid("shop"), name="shop"),),
    "eligible replicas of all topics cleared": (ClearElrRecord(topic_name=""),),
}


@pytest.mark.parametrize("text", WORDS)
def test_records_are_told_in_words(text: str) -> None:
    log = FakeLog(batches(WORDS[text]))
    (event,) = Timeline(log).events(0, log.end_offset)
    assert event.text == text


def test_removed_acls_are_named() -> None:
    removed = [RemoveAccessControlEntryRecord(id=uid(name)) for name in "ab"]
    log = FakeLog(batches([acl("a"), acl("b")], removed))
    (_, event) = Timeline(log).events(0, log.end_offset)
    assert event.text == (
        "2 ACLs removed (allow User:ann READ on topic:a, allow User:ann READ on topic:b)"
    )
    assert event.objects == tuple(f"acl:{uuid_text(uid(name))}" for name in "ab")


def test_topics_without_eligible_replicas_are_listed_by_name() -> None:
    names = [f"t{number:02}" for number in range(20)]
    created = [
        record
        for name in names[::-1]
        for record in (topic(name), partition(name, 0, eligible_leader_replicas=(2,)))
    ]
    log = FakeLog(batches(created, [ClearElrRecord(topic_name="")]))
    (*_, cleared) = Timeline(log).events(0, log.end_offset)
    assert cleared.objects == tuple(f"partition:{name}/0" for name in names)


@sampled
def test_no_record_of_a_history_is_told_by_the_name_of_its_class() -> None:
    for seed in range(cases(40, 4)):
        log = FakeLog(random_history(random.Random(seed), 80))
        texts = [event.text for event in Timeline(log).events(0, log.end_offset)]
        assert [text for text in texts if re.search(r"[a-z]Record|Message", text)] == [], seed
