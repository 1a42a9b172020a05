"""The JSON shape of other readers of metadata logs; the real logs are in test_real_logs.py."""

import json
from typing import Any

import pytest

from records.brokers import BrokerFeature
from records.configs import (
    ClientQuotaRecord,
    ConfigRecord,
    EntityData,
    ProducerIdsRecord,
)
from records.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)
from records.text import uuid_text
from replay.image.kraft_json import kraft_json
from replay.image.metadata import MetadataImage
from tests.replay.builders import (
    batch,
    broker,
    endpoint,
    image_after,
    image_of,
    namespace,
    partition,
    topic,
    uid,
)


def _json(image: MetadataImage) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(json.dumps(kraft_json(image)))
    return parsed


def test_empty_image_has_every_key() -> None:
    assert _json(MetadataImage.EMPTY) == {
        "endOffset": 0,
        "features": [],
        "topics": [],
        "parts": [],
        "configs": [],
        "brokers": [],
        "controllers": [],
        "producer": -1,
        "scram": [],
        "acls": [],
        "quotas": [],
        "zk": None,
        "tokens": [],
    }


def test_partitions_are_ordered_by_the_text_of_their_key() -> None:
    image = image_of(topic("t"), *(partition("t", n) for n in range(12)))
    ids = [key[1] for key, _ in _json(image)["parts"]]
    assert ids == [0, 10, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_fields_of_a_partition_that_are_often_empty_are_left_out() -> None:
    image = image_of(
        topic("t"),
        partition("t", 0, replicas=(1,), isr=(1,)),
        partition("t", 1, replicas=(1,), isr=(), directories=(uid("x"),), last_known_elr=(1,)),
    )
    (_, first), (_, second) = _json(image)["parts"]
    assert first == {
        "replicas": [1],
        "isr": [1],
        "removingReplicas": [],
        "addingReplicas": [],
        "leader": 1,
        "leaderRecoveryState": 0,
        "leaderEpoch": 0,
        "partitionEpoch": 0,
    }
    assert second == first | {
        "isr": [],
        "directories": [uuid_text(uid("x"))],
        "lastKnownElr": [1],
    }


@pytest.mark.parametrize(
    ("record_version", "missing"),
    [
        (0, {"inControlledShutdown", "isMigratingZkBroker", "logDirs"}),
        (1, {"isMigratingZkBroker", "logDirs"}),
        (2, {"logDirs"}),
        (3, set()),
    ],
)
def test_broker_has_only_the_keys_of_its_record_version(
    record_version: int, missing: set[str]
) -> None:
    ((_, fields),) = _json(image_after([batch(0, broker(1), record_version=record_version)]))[
        "brokers"
    ]
    everything = {
        "brokerId",
        "isMigratingZkBroker",
        "incarnationId",
        "brokerEpoch",
        "endPoints",
        "features",
        "rack",
        "fenced",
        "inControlledShutdown",
        "logDirs",
    }
    assert set(fields) == everything - missing


def test_endpoints_and_features_are_sorted_by_name() -> None:
    features = tuple(
        BrokerFeature(name=name, min_supported_version=0, max_supported_version=1)
        for name in ("b", "a")
    )
    image = image_of(broker(1, end_points=(endpoint("B"), endpoint("A")), features=features))
    ((_, fields),) = _json(image)["brokers"]
    assert [end_point["name"] for end_point in fields["endPoints"]] == ["A", "B"]
    assert [feature["name"] for feature in fields["features"]] == ["a", "b"]


def test_what_kafka_does_not_know_is_left_out() -> None:
    config = {"name": "a", "value": "b"}
    image = image_of(
        namespace("org"),
        topic("t", namespace="org"),
        partition("t", 0, mode=1),
        topic("u"),
        partition("u", 0, mode=1),
        ConfigRecord(resource_type=2, resource_name="org:t", **config),
        ConfigRecord(resource_type=2, resource_name="u", **config),
        ConfigRecord(resource_type=64, resource_name="org", **config),
    )
    found = _json(image)
    assert found["topics"] == [[uuid_text(uid("u")), "u"]]
    assert [key for key, _ in found["parts"]] == [[uuid_text(uid("u")), 0]]
    assert "mode" not in found["parts"][0][1]
    assert found["configs"] == [[[2, "u"], {"a": "b"}]]


def test_security_and_quotas_are_lists_of_pairs() -> None:
    image = image_of(
        ProducerIdsRecord(broker_id=1, broker_epoch=2, next_producer_id=3000),
        UserScramCredentialRecord(
            name="u",
            mechanism=1,
            salt=b"\xfb\xff",
            stored_key=b"",
            server_key=b"k",
            iterations=4096,
        ),
        AccessControlEntryRecord(
            id=uid("a"),
            resource_type=2,
            resource_name="t",
            pattern_type=3,
            principal="User:u",
            host="*",
            operation=3,
            permission_type=3,
        ),
        ClientQuotaRecord(
            entity=(
                EntityData(entity_type="user", entity_name=None),
                EntityData(entity_type="client-id", entity_name="c"),
            ),
            key="rate",
            value=2.0,
            remove=False,
        ),
        DelegationTokenRecord(
            owner="User:o",
            requester="User:r",
            renewers=("b", "a"),
            issue_timestamp=1,
            max_timestamp=3,
            expiration_timestamp=2,
            token_id="id",
        ),
    )
    found = _json(image)
    assert found["producer"] == 3000
    assert found["scram"] == [
        [["u", 1], {"salt": "+/8=", "storedKey": "", "serverKey": "aw==", "iterations": 4096}]
    ]
    ((acl_id, acl),) = found["acls"]
    assert acl_id == acl["id"] == uuid_text(uid("a"))
    assert found["quotas"] == [[[[["client-id", "c"], ["user", None]], "rate"], 2.0]]
    ((token_id, token),) = found["tokens"]
    assert token_id == token["tokenId"] == "id"
    assert token["renewers"] == ["a", "b"]
