"""Kinds of objects: presents an image as objects with named fields, for all queries.

Each kind can name its objects, list them, and return an object's fields as JSON values. A key
identifies an object independently of its name: the key of a topic is its id.
"""

from collections.abc import Callable, Collection, Hashable, Iterator
from functools import partial
from typing import Any, NamedTuple

import msgspec

from records.json import field_json, fields_json
from records.text import uuid_text
from replay.image.features import ZkMigration
from replay.image.metadata import MetadataImage, joined_name
from replay.image.namespaces import Namespace
from replay.image.parts import PARTS
from replay.image.topics import Topic
from replay.image.versions import UNKNOWN
from replay.image.voters import Voter
from replay.time_travel.labels import (
    Find,
    Label,
    acl_key,
    by_number,
    config_key,
    config_label,
    deletion_key,
    deletion_label,
    listed,
    namespace_key,
    namespace_label,
    note_key,
    note_label,
    partition_key,
    partition_label,
    quota_key,
    quota_label,
    removal_key,
    scram_label,
    text_label,
    topic_key,
    topic_label,
    unescaped,
)

Key = Hashable
Fields = dict[str, Any]


class Kind(msgspec.Struct, frozen=True):
    """One kind of object, stored in one or several parts of the image.

    `objects` yields key and value of every object; `value` returns the value for a key, None if the
    image has no such object. If a value is the same Python object in two images, the object has not
    changed. `fields_of` returns the fields of a value, `differing` the fields that differ between
    two values. `find` returns the key for a label, None if the image has no such object, and raises
    ValueError if the label is invalid for this kind, or ambiguous. `is_renamed`: an object may have
    different labels in different images.
    """

    name: str
    parts: tuple[str, ...]
    objects: Callable[[MetadataImage], Iterator[tuple[Any, Any]]]
    find: Find
    label: Label
    value: Callable[[MetadataImage, Any], Any]
    fields_of: Callable[[Any], Fields]
    differing: Callable[[Any, Any], "FieldsOfTwo"] | None = None
    is_renamed: bool = False

    def fields(self, image: MetadataImage, key: Any) -> Fields | None:
        """Return the fields of an object in an image, None if it is absent."""
        return self.fields_or_none(self.value(image, key))

    def fields_or_none(self, value: Any) -> Fields | None:
        """Return the fields of a value; None if the value is None."""
        return None if value is None else self.fields_of(value)

    def fields_of_two(self, old: Any, new: Any) -> "FieldsOfTwo":
        """Return the fields of two values (or None); equal fields may be left out of both."""
        if self.differing is None or old is None or new is None:
            return self.fields_or_none(old), self.fields_or_none(new)
        return self.differing(old, new)


FieldsOfTwo = tuple[Fields | None, Fields | None]


def _without(names: frozenset[str], later: Collection[str], struct: msgspec.Struct) -> Fields:
    """Return the fields as JSON, without `names` and without empty fields listed in `later`."""
    fields = fields_json(struct, names)
    for name in later:
        if not fields.get(name, True):
            del fields[name]
    return fields


def _pairs(part: str, image: MetadataImage) -> Iterator[tuple[Any, Any]]:
    key_of = PARTS[part].key_of
    return ((key_of(each), each) for each in PARTS[part].objects(image))


def _kind(
    name: str,
    part: str,
    label: Label,
    find: Find | None = None,
    *,
    shown: Collection[str] = (),
    is_renamed: bool = False,
) -> Kind:
    """Return a kind for the objects of one part.

    The objects' key fields are left out, except those in `shown`.
    """
    of = PARTS[part]
    hidden = frozenset({*of.key, *of.beside}.difference(shown))
    return Kind(
        name,
        (part,),
        partial(_pairs, part),
        find or listed(name, part, label),
        label,
        of.get,
        partial(_without, hidden, of.later),
        partial(_differing, hidden, of.later),
        is_renamed,
    )


def _differing(
    hidden: Collection[str], later: Collection[str], old: msgspec.Struct, new: msgspec.Struct
) -> FieldsOfTwo:
    """Return only the fields that differ: formatting the ids in all fields would be slow."""
    names = [
        name
        for name in old.__struct_fields__
        if name not in hidden and getattr(old, name) != getattr(new, name)
    ]
    return _some(old, names, later), _some(new, names, later)


def _some(struct: msgspec.Struct, names: Collection[str], later: Collection[str]) -> Fields:
    pairs = ((name, field_json(struct, name)) for name in names)
    return {name: value for name, value in pairs if value or name not in later}


class TopicValue(NamedTuple):
    """A topic with its namespace and its number of partitions, for display."""

    topic: Topic
    namespace: Namespace | None
    partitions: int


def _topic(image: MetadataImage, topic_id: Any) -> TopicValue | None:
    topic = image.topic(topic_id)
    return None if topic is None else _topic_value(image, topic)


def _topic_value(image: MetadataImage, topic: Topic) -> TopicValue:
    namespace = None if topic.namespace_id is None else image.namespace(topic.namespace_id)
    return TopicValue(topic, namespace, len(image.partitions(topic.topic_id)))


def _topics(image: MetadataImage) -> Iterator[tuple[Any, Any]]:
    return ((topic.topic_id, _topic_value(image, topic)) for topic in image.topics())


def _topic_fields(value: TopicValue) -> Fields:
    topic, namespace, partitions = value
    return {
        "topic_id": uuid_text(topic.topic_id),
        "name": topic.name if namespace is None else joined_name(namespace, topic),
        "partitions": partitions,
    }


CLUSTER_PARTS = ("producer_ids", "zk_migration", "kraft_version")


def _cluster(image: MetadataImage) -> Iterator[tuple[Any, Any]]:
    """Return the objects of the parts with at most one object; the key is the name of the part."""
    return ((part, each) for part in CLUSTER_PARTS for each in PARTS[part].objects(image))


def _cluster_value(image: MetadataImage, key: Any) -> Any:
    return PARTS[key].get(image, None) if key in CLUSTER_PARTS else None


def _cluster_fields(value: Any) -> Fields:
    if isinstance(value, ZkMigration):
        return {"state": value.zk_migration_state}
    return fields_json(value)


_ALL = (
    Kind(
        "topic",
        ("topics",),
        _topics,
        topic_key,
        topic_label,
        _topic,
        _topic_fields,
        is_renamed=True,
    ),
    _kind("partition", "partitions", partition_label, partition_key, is_renamed=True),
    _kind("broker", "brokers", text_label, by_number(MetadataImage.broker)),
    _kind("controller", "controllers", text_label, by_number(MetadataImage.controller)),
    _kind("voter", "voters", text_label, by_number(MetadataImage.voter)),
    _kind(
        "namespace",
        "namespaces",
        namespace_label,
        namespace_key,
        shown=PARTS["namespaces"].key,
        is_renamed=True,
    ),
    Kind(
        "config",
        ("configs",),
        lambda image: iter(image.configs()),
        config_key,
        config_label,
        lambda image, key: image.config(*key) or None,
        lambda values: dict(sorted(values.items())),
    ),
    Kind(
        "feature",
        ("features",),
        partial(_pairs, "features"),
        lambda image, name: None if image.feature(unescaped(name)) is None else unescaped(name),
        text_label,
        PARTS["features"].get,
        lambda feature: {"level": feature.feature_level},
    ),
    _kind("acl", "acls", lambda _, key: uuid_text(key), acl_key),
    _kind("quota", "client_quotas", quota_label, quota_key),
    _kind("scram", "scram", scram_label),
    _kind("token", "delegation_tokens", text_label, shown=PARTS["delegation_tokens"].key),
    _kind("removal", "pending_partition_removals", partition_label, removal_key, is_renamed=True),
    _kind("deletion", "replica_deletions", deletion_label, deletion_key),
    _kind("note", "notes", note_label, note_key, shown=PARTS["notes"].key),
    Kind(
        "cluster",
        CLUSTER_PARTS,
        _cluster,
        lambda image, name: None if _cluster_value(image, name) is None else name,
        text_label,
        _cluster_value,
        _cluster_fields,
    ),
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}


def _voter_set(image: MetadataImage, _: Any) -> list[Voter] | None:
    return sorted(image.voters(), key=lambda voter: voter.voter_id) or None


def _voter_set_fields(voters: list[Voter]) -> Fields:
    return {str(voter.voter_id): KINDS["voter"].fields_of(voter) for voter in voters}


VOTERS = "voters"
"""Name of the set of all voters: an object whose fields are the voters."""

VOTER_SET = msgspec.structs.replace(
    KINDS["voter"],
    objects=lambda image: iter([(VOTERS, image.voters())] if any(image.voters()) else ()),
    find=lambda image, name: VOTERS if any(image.voters()) else None,
    label=lambda image, key: VOTERS,
    value=_voter_set,
    fields_of=_voter_set_fields,
    differing=None,
)


def _namespace_version(image: MetadataImage, namespace_id: Any) -> int:
    namespace = image.namespace(namespace_id)
    return UNKNOWN if namespace is None else namespace.version


_VERSIONS: dict[str, Callable[[MetadataImage, Any], int]] = {
    "topic": MetadataImage.topic_version,
    "partition": lambda image, key: image.partition_version(*key),
    "namespace": _namespace_version,
    "config": lambda image, key: image.config_version(*key),
}

VERSIONED_KINDS = tuple(_VERSIONS)
"""Kinds of objects that have versions: the offset of the last record that touched the object."""


def object_version(image: MetadataImage, kind: str, key: Any) -> int:
    """Return the version of an existing object; UNKNOWN if it is older than the kept history.

    Args:
        kind: One of VERSIONED_KINDS.
        key: From `Kind.find`.
    """
    return _VERSIONS[kind](image, key)
