"""Parses topics, partitions, replicas and configs from the command line.

Malformed text is a usage error; well-formed but impossible values are refused by the controller.
"""

import re
from typing import TYPE_CHECKING

from api.cli.options.parameters import bad_parameter

if TYPE_CHECKING:
    from controller.decisions.lookup import TopicRef
    from controller.decisions.partitions.assignments import Assignment

_BROKER_ID = re.compile(r"[0-9]{1,10}")
_BROKER_ID_MAX = 2**31 - 1


def topic_ref(text: str, namespace: str = "") -> "TopicRef":
    """Parse a topic's full name, or its id if written `@ID`."""
    if text.startswith("@"):
        from records.text import parse_uuid

        try:
            return parse_uuid(text[1:])
        except ValueError as error:
            raise bad_parameter(str(error)) from None
    return f"{namespace}:{text}" if namespace else text


def need_topics(namespace: str, named: object) -> None:
    """Raise a usage error if a namespace is given, but no topic.

    The answer would otherwise be about the topics of all namespaces.
    """
    if namespace and not named:
        raise bad_parameter(
            "name topics of the namespace, or leave --namespace out for all topics; `metalog "
            f"topics list --namespace {namespace}` lists its topics",
            param_hint="--namespace",
        )


def new_topic_name(text: str, namespace: str = "") -> tuple[str, str]:
    """Split a topic's full name into namespace and last part: `a:b` is `b` in namespace `a`."""
    full = f"{namespace}:{text}" if namespace else text
    found, _, name = full.rpartition(":")
    return found, name


def partition_ref(text: str, namespace: str = "") -> "tuple[TopicRef, int]":
    """Parse `TOPIC/NUMBER`."""
    topic, slash, number = text.rpartition("/")
    if not slash or not topic or not _BROKER_ID.fullmatch(number):
        raise bad_parameter(f"{text!r} is not a partition; write TOPIC/NUMBER")
    return topic_ref(topic, namespace), int(number)


def broker_ids(text: str, separator: str = ",") -> tuple[int, ...]:
    """Parse broker ids, such as `1,2,3`."""
    ids = text.split(separator)
    if not all(_BROKER_ID.fullmatch(i) and int(i) <= _BROKER_ID_MAX for i in ids):
        raise bad_parameter(
            f"{text!r} names no brokers; write their ids as 1{separator}2{separator}3"
        )
    return tuple([int(i) for i in ids])


def assignments(text: str, first_partition_id: int = 0) -> "tuple[Assignment, ...]":
    """Parse `1:2,2:3`: partition 0 on brokers 1 and 2, partition 1 on brokers 2 and 3."""
    from controller.decisions.partitions.assignments import Assignment

    return tuple(
        [
            Assignment(first_partition_id + index, broker_ids(item, ":"))
            for index, item in enumerate(text.split(","))
        ]
    )


def config_pairs(texts: list[str] | None) -> tuple[tuple[str, str], ...]:
    """Parse `NAME=VALUE` pairs; a value may contain equal signs."""
    pairs = []
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise bad_parameter(f"{text!r} is not a config; write NAME=VALUE")
        pairs.append((name, value))
    return tuple(pairs)
