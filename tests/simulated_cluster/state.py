"""The state of the simulated cluster: just enough to generate no contradictory records.

Plain dicts and sets, without any code of replay.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from records.base import Uuid

T = TypeVar("T")

NAMES = ("orders", "payments.v1", "zoë", "a_b", "__consumer_offsets")
TIERS = ("org", "apache", "team-a")
CONFIG_NAMES = ("retention.ms", "cleanup.policy", "min.insync.replicas")
FEATURES = ("metadata.version", "group.version", "namespace.version")
USERS = ("User:alice", "User:bob", "User:zoë")


@dataclass
class Partition:
    """A partition's replicas and leader."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int


@dataclass
class Topic:
    """A topic, its partitions, and the ids of those that are being removed."""

    name: str
    namespace_id: Uuid | None
    partitions: dict[int, Partition] = field(default_factory=dict)
    pending: set[int] = field(default_factory=set)


@dataclass
class Cluster:
    """The whole state; brokers with their epochs."""

    topics: dict[Uuid, Topic] = field(default_factory=dict)
    namespaces: dict[Uuid, str] = field(default_factory=dict)
    brokers: dict[int, int] = field(default_factory=dict)
    acls: set[Uuid] = field(default_factory=set)
    credentials: set[tuple[str, int]] = field(default_factory=set)
    tokens: set[str] = field(default_factory=set)
    replica_deletions: set[tuple[Uuid, int, int]] = field(default_factory=set)
    next_producer_id: int = 0

    def full_name(self, topic_id: Uuid) -> str:
        """Return a topic's name including that of its namespace."""
        topic = self.topics[topic_id]
        if topic.namespace_id is None:
            return topic.name
        return f"{self.namespaces[topic.namespace_id]}:{topic.name}"


def new_id(rng: random.Random) -> Uuid:
    """Return an unused id."""
    return Uuid(rng.randbytes(16))


def some(rng: random.Random, items: Iterable[T]) -> tuple[T, ...]:
    """Return at least one of the items, in random order."""
    able = list(items)
    return tuple(rng.sample(able, rng.randrange(1, len(able) + 1)))
