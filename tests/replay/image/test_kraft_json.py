"""The JSON form of an image that other programs use; real logs are in test_real_logs.py."""

import json
from typing import Any

import pytest

from records.brokers import (
    BrokerEndpoint,
    BrokerFeature,
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)
from records.configs import (
    ClientQuotaRecord,
    ConfigRecord,
    EntityData,
    FeatureLevelRecord,
    ProducerIdsRecord,
    ZkMigrationStateRecord,
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
        ConfigRecord(resource_type=100, resource_name="org", **config),
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


@pytest.mark.parametrize("resource_type", [*range(-1, 65), 127])
def test_configs_are_those_of_resources_that_kafka_has(resource_type: int) -> None:
    image = image_of(
        ConfigRecord(resource_type=resource_type, resource_name="r", name="a", value="b")
    )
    kept = [[[resource_type, "r"], {"a": "b"}]] if resource_type in (2, 4, 8, 16, 32) else []
    assert _json(image)["configs"] == kept


@pytest.mark.parametrize(("resource_type", "count"), [(1, 1), (7, 1), (8, 0)])
def test_acls_are_those_of_resources_that_kafka_has(resource_type: int, count: int) -> None:
    image = image_of(
        AccessControlEntryRecord(
            id=uid("a"),
            resource_type=resource_type,
            resource_name="t",
            pattern_type=3,
            principal="User:u",
            host="*",
            operation=4,
            permission_type=5,
        )
    )
    expected = {
        "id": uuid_text(uid("a")),
        "resourceType": resource_type,
        "resourceName": "t",
        "patternType": 3,
        "principal": "User:u",
        "host": "*",
        "operation": 4,
        "permissionType": 5,
    }
    assert _json(image)["acls"] == [[uuid_text(uid("a")), expected]] * count


def test_nodes_have_every_key_with_its_value() -> None:
    feature: dict[str, Any] = {"name": "f", "min_supported_version": 1, "max_supported_version": 2}
    end_point: dict[str, Any] = {"name": "E", "host": "h", "port": 9, "security_protocol": 3}
    shown = {
        "incarnationId": uuid_text(uid("i")),
        "endPoints": [{"name": "E", "host": "h", "port": 9, "securityProtocol": 3}],
        "features": [{"name": "f", "minSupportedVersion": 1, "maxSupportedVersion": 2}],
    }
    registered = broker(
        7,
        incarnation_id=uid("i"),
        end_points=(BrokerEndpoint(**end_point),),
        features=(BrokerFeature(**feature),),
        rack="r",
        log_dirs=(uid("d"),),
    )
    controller = RegisterControllerRecord(
        controller_id=8,
        incarnation_id=uid("i"),
        zk_migration_ready=True,
        end_points=(ControllerEndpoint(**end_point),),
        features=(ControllerFeature(**feature),),
    )
    found = _json(image_after([batch(0, registered, record_version=3), batch(1, controller)]))
    assert found["brokers"] == [
        [
            7,
            shown
            | {
                "brokerId": 7,
                "isMigratingZkBroker": False,
                "brokerEpoch": 10,
                "rack": "r",
                "fenced": True,
                "inControlledShutdown": False,
                "logDirs": [uuid_text(uid("d"))],
            },
        ]
    ]
    assert found["controllers"] == [[8, shown | {"controllerId": 8, "zkMigrationReady": True}]]
    assert found["endOffset"] == 2


def test_partition_has_every_key_with_its_value() -> None:
    image = image_of(
        FeatureLevelRecord(name="metadata.version", feature_level=25),
        ZkMigrationStateRecord(zk_migration_state=4),
        topic("t"),
        partition(
            "t",
            0,
            isr=(2,),
            leader=2,
            adding_replicas=(3,),
            removing_replicas=(1,),
            leader_recovery_state=1,
            leader_epoch=5,
            partition_epoch=6,
            directories=(uid("a"), uid("b"), uid("c")),
            eligible_leader_replicas=(3,),
            last_known_elr=(1,),
        ),
    )
    found = _json(image)
    assert found["features"] == [["metadata.version", 25]]
    assert found["zk"] == 4
    assert found["parts"] == [
        [
            [uuid_text(uid("t")), 0],
            {
                "replicas": [1, 2, 3],
                "isr": [2],
                "removingReplicas": [1],
                "addingReplicas": [3],
                "leader": 2,
                "leaderRecoveryState": 1,
                "leaderEpoch": 5,
                "partitionEpoch": 6,
                "directories": [uuid_text(uid("a")), uuid_text(uid("b")), uuid_text(uid("c"))],
                "eligibleLeaderReplicas": [3],
                "lastKnownElr": [1],
            },
        ]
    ]


def test_lists_of_pairs_are_in_the_order_of_their_keys() -> None:
    def quota(kind: str, name: str | None, key: str = "rate") -> ClientQuotaRecord:
        entity = (EntityData(entity_type=kind, entity_name=name),)
        return ClientQuotaRecord(entity=entity, key=key, value=1.0, remove=False)

    def token(token_id: str) -> DelegationTokenRecord:
        return DelegationTokenRecord(
            owner="User:o",
            requester="User:r",
            renewers=(),
            issue_timestamp=11,
            max_timestamp=13,
            expiration_timestamp=12,
            token_id=token_id,
        )

    image = image_of(
        *(broker(number) for number in (10, 9, 1)),
        *(ConfigRecord(resource_type=4, resource_name=n, name="a", value="b") for n in "cab"),
        quota("user", "b"),
        quota("user", None),
        quota("user", "a", "z"),
        quota("user", "a"),
        quota("client-id", "c"),
        token("b"),
        token("a"),
    )
    found = _json(image)
    assert [key for key, _ in found["brokers"]] == [1, 9, 10]
    assert [key for key, _ in found["configs"]] == [[4, "a"], [4, "b"], [4, "c"]]
    # In the order of the keys' JSON texts: null comes after every name in quotes.
    assert [key for key, _ in found["quotas"]] == [
        [[["client-id", "c"]], "rate"],
        [[["user", "a"]], "rate"],
        [[["user", "a"]], "z"],
        [[["user", "b"]], "rate"],
        [[["user", None]], "rate"],
    ]
    assert [key for key, _ in found["tokens"]] == ["a", "b"]
    assert found["tokens"][0][1] == {
        "owner": "User:o",
        "requester": "User:r",
        "renewers": [],
        "issueTimestamp": 11,
        "maxTimestamp": 13,
        "expirationTimestamp": 12,
        "tokenId": "a",
    }
