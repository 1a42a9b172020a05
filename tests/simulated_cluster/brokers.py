"""Random events of brokers and controllers."""

import random

from records import brokers
from records.base import Record, Uuid
from tests.simulated_cluster.state import FEATURES, Cluster, new_id, some


def register_broker(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    broker_id = rng.randrange(1, 12)
    cluster.brokers[broker_id] = offset
    record = brokers.RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=new_id(rng),
        broker_epoch=offset,
        end_points=tuple(
            brokers.BrokerEndpoint(name=name, host="localhost", port=9092, security_protocol=0)
            for name in some(rng, ["PLAINTEXT", "INTERNAL"])
        ),
        features=tuple(
            brokers.BrokerFeature(
                name=name, min_supported_version=0, max_supported_version=rng.randrange(1, 9)
            )
            for name in some(rng, FEATURES)
        ),
        rack=rng.choice([None, "", "rack-1"]),
        fenced=rng.random() < 0.8,
        in_controlled_shutdown=rng.random() < 0.1,
        is_migrating_zk_broker=rng.random() < 0.1,
        log_dirs=tuple(new_id(rng) for _ in range(rng.choice([0, 0, 1, 2]))),
    )
    return [record]


def change_broker(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    if not cluster.brokers:
        return []
    broker_id = rng.choice(list(cluster.brokers))
    broker_epoch = cluster.brokers[broker_id]
    old_style = {"id": broker_id, "epoch": broker_epoch}
    match rng.randrange(5):
        case 0:
            return [brokers.FenceBrokerRecord(**old_style)]
        case 1:
            return [brokers.UnfenceBrokerRecord(**old_style)]
        case 2:
            del cluster.brokers[broker_id]
            return [brokers.UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker_epoch)]
    return [
        brokers.BrokerRegistrationChangeRecord(
            broker_id=broker_id,
            broker_epoch=broker_epoch,
            fenced=rng.choice([-1, 0, 1]),
            in_controlled_shutdown=rng.choice([0, 0, 1]),
            log_dirs=tuple(new_id(rng) for _ in range(rng.choice([0, 0, 1]))),
            # By the offset, so that histories of the same seed keep their lengths.
            cordoned_log_dirs=[None, (), (Uuid(bytes([offset % 256]) * 16),)][offset % 3],
        )
    ]


def register_controller(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    controller_id = 3_000 + rng.randrange(3)
    record = brokers.RegisterControllerRecord(
        controller_id=controller_id,
        incarnation_id=new_id(rng),
        zk_migration_ready=rng.random() < 0.5,
        end_points=(
            brokers.ControllerEndpoint(
                name="CONTROLLER", host="localhost", port=9093, security_protocol=0
            ),
        ),
        features=tuple(
            brokers.ControllerFeature(name=name, min_supported_version=0, max_supported_version=1)
            for name in some(rng, FEATURES)
        ),
    )
    if offset % 4 == 0:
        return [brokers.UnregisterControllerRecord(controller_id=controller_id)]
    return [record]
