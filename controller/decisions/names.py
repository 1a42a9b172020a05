"""Naming rules of topics and namespaces.

Source: Kafka's topic names; KIP-37 for namespaces, whose tiers are joined by ':' and become
folders on a broker's disk.
"""

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterator
from typing import TypeVar

from controller.results.refusals import invalid_namespace, invalid_topic_name

N = TypeVar("N", bound=Hashable)

TIER_SEPARATOR = ":"
TOPIC_NAME_LENGTH_MAX = 249
# File systems allow folder names of 255 octets; a tier has the same limit as a topic in Kafka.
_TIER_LENGTH_MAX = TOPIC_NAME_LENGTH_MAX

# Log directory, namespace and topic together must fit a path of 4,096 octets.
_NAMESPACE_LENGTH_MAX = 2_000

# Name of Kafka's metadata log; brokers and clients would take a topic of this name for the log.
# Refused in every namespace, because a topic keeps its name when it moves.
_CLUSTER_METADATA = "__cluster_metadata"

# Brokers use this folder name for partitions to be deleted.
_RESERVED_TIERS = frozenset({".", "..", "deleting"})

_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]+")
_TIER = re.compile(r"[A-Za-z0-9.-]+")


def check_topic_name(name: str) -> None:
    """Check a topic name; `name` is the last part of the full name.

    Raises:
        RequestError: INVALID_TOPIC_EXCEPTION.
    """
    if not name:
        raise invalid_topic_name("the name of a topic must not be empty")
    if name in (".", ".."):
        raise invalid_topic_name(f"{name!r} cannot be the name of a topic")
    if name == _CLUSTER_METADATA:
        raise invalid_topic_name(f"{name!r} is reserved for the metadata log")
    if len(name) > TOPIC_NAME_LENGTH_MAX:
        raise invalid_topic_name(
            f"{name!r} has {len(name)} characters; at most {TOPIC_NAME_LENGTH_MAX} are allowed"
        )
    if TIER_SEPARATOR in name:
        raise invalid_topic_name(
            f"{name!r}: a topic name cannot contain ':'; give the namespace in its own field"
        )
    if not _TOPIC_NAME.fullmatch(name):
        raise invalid_topic_name(
            f"{name!r} has characters other than ASCII letters, digits, '.', '_' and '-'"
        )


def check_namespace_name(name: str) -> None:
    """Check a namespace name.

    Raises:
        RequestError: INVALID_TOPIC_EXCEPTION (InvalidNamespace).
    """
    if len(name) > _NAMESPACE_LENGTH_MAX:
        raise invalid_namespace(
            f"the namespace has {len(name)} characters; at most {_NAMESPACE_LENGTH_MAX} are allowed"
        )
    for tier in name.split(TIER_SEPARATOR):
        if len(tier) > _TIER_LENGTH_MAX:
            raise invalid_namespace(
                f"the tier '{tier[:20]}...' has {len(tier)} characters; at most {_TIER_LENGTH_MAX} "
                "are allowed"
            )
        if not _TIER.fullmatch(tier):
            raise invalid_namespace(
                f"{name!r}: each tier is one or more ASCII letters, digits, '.' and '-'"
            )
        if tier in _RESERVED_TIERS:
            raise invalid_namespace(
                f"{name!r}: the tier {tier!r} is a reserved folder name; '.', '..' and 'deleting' "
                "are not allowed"
            )


def check_full_name(name: str) -> None:
    """Check a topic's full name: the name of its namespace, if any, and the topic's own name.

    Raises:
        RequestError: INVALID_TOPIC_EXCEPTION.
    """
    namespace, separator, own = name.rpartition(TIER_SEPARATOR)
    if separator:
        check_namespace_name(namespace)
    check_topic_name(own)


def tiers(name: str) -> Iterator[str]:
    """Yield a namespace and all above it, topmost first: `a`, then `a:b`, for `a:b`."""
    parts = name.split(TIER_SEPARATOR)
    for depth in range(1, len(parts) + 1):
        yield TIER_SEPARATOR.join(parts[:depth])


def full_name(namespace: str, name: str) -> str:
    """Return a topic's name prefixed by its namespace; "" is the default namespace."""
    return f"{namespace}{TIER_SEPARATOR}{name}" if namespace else name


def named_more_than_once(names: Collection[N]) -> frozenset[N]:
    """Return the names that occur more than once in a request; all their items are refused."""
    if len(set(names)) == len(names):
        return frozenset()
    return frozenset([name for name, count in Counter(names).items() if count > 1])
