"""Random events of configs, features, quotas and producer ids; and records without effect."""

import random

from records import configs, control
from records.base import Record
from tests.simulated_cluster.state import CONFIG_NAMES, FEATURES, USERS, Cluster, some


def set_config(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    resources = [(4, ""), (4, "1"), (2, "unknown")]
    resources += [(2, cluster.full_name(topic_id)) for topic_id in cluster.topics] * 2
    resource_type, resource_name = rng.choice(resources)
    if resource_type != 2 or resource_name == "unknown":
        # By the offset, so that histories of the same seed keep their lengths.
        others = [(resource_type, resource_name), (8, "1"), (16, "metrics"), (32, "group")]
        others += [(100, name) for name in cluster.namespaces.values()] * 3
        resource_type, resource_name = others[offset % len(others)]
    return [
        configs.ConfigRecord(
            resource_type=resource_type,
            resource_name=resource_name,
            name=rng.choice(CONFIG_NAMES),
            value=rng.choice([None, "", "1", "compact"]),
        )
    ]


def set_feature(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    return [
        configs.FeatureLevelRecord(name=rng.choice(FEATURES), feature_level=rng.randrange(0, 26))
    ]


def set_quota(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    entity = tuple(
        configs.EntityData(entity_type=kind, entity_name=rng.choice([None, "", "a"]))
        for kind in some(rng, ["user", "client-id"])
    )
    return [
        configs.ClientQuotaRecord(
            entity=entity,
            key=rng.choice(["producer_byte_rate", "request_percentage"]),
            value=rng.choice([0.1, 1024.0, 1e300]),
            remove=rng.random() < 0.3,
        )
    ]


def hand_out_producer_ids(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    cluster.next_producer_id += 1_000
    return [
        configs.ProducerIdsRecord(
            broker_id=1, broker_epoch=offset, next_producer_id=cluster.next_producer_id
        )
    ]


def migrate(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    return [configs.ZkMigrationStateRecord(zk_migration_state=rng.randrange(5))]


def say_nothing(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    if rng.random() < 0.5:
        return [control.NoOpRecord()]
    return [
        control.UnknownRecord(
            api_key=rng.randrange(100, 200),
            record_version=rng.randrange(3),
            value=rng.randbytes(5),
        )
    ]


def write_note(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    return [
        control.NoteRecord(
            at_offset=rng.randrange(offset + 1), author=rng.choice(USERS), text="why?"
        )
    ]
