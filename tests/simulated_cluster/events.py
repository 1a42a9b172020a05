"""All random events and their probabilities: as in a busy cluster, mostly partition changes."""

import random
from collections.abc import Callable

from records.base import Record
from tests.simulated_cluster import brokers, partitions, removals, security, settings, topics
from tests.simulated_cluster.state import Cluster

Event = Callable[[Cluster, random.Random, int], list[Record]]
"""Changes the cluster and returns the records of that, none if it cannot happen now. Takes the
offset at which the records' batch starts."""

_WEIGHTS: dict[Event, int] = {
    partitions.change_partition: 20,
    topics.create_topic: 8,
    settings.set_config: 5,
    brokers.register_broker: 4,
    brokers.change_broker: 4,
    removals.start_removal: 3,
    topics.create_namespace: 3,
    topics.remove_topic: 2,
    topics.recreate_topic: 2,
    topics.move_topic: 2,
    topics.remove_namespace: 1,
    partitions.rewrite_partition: 1,
    partitions.grow_topic: 2,
    partitions.clear_elr: 1,
    removals.cancel_removal: 2,
    removals.finish_removal: 2,
    removals.delete_replica: 2,
    removals.end_replica_deletion: 2,
    brokers.register_controller: 1,
    settings.set_feature: 2,
    settings.set_quota: 2,
    settings.hand_out_producer_ids: 1,
    settings.migrate: 1,
    security.add_acl: 2,
    security.remove_acl: 1,
    security.set_credential: 2,
    security.remove_credential: 1,
    security.set_token: 2,
    security.remove_token: 1,
    settings.say_nothing: 2,
    settings.write_note: 1,
}


def some_event(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    """Return the records of a random event that is possible in the current state."""
    records: list[Record] = []
    while not records:
        (event,) = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        records = event(cluster, rng, offset)
    return records
