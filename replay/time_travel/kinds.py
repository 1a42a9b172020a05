"""Kinds of objects: presents an image as objects with named fields, for all queries.

Each kind can name its objects, list them, and return an object's fields as JSON values. A key
identifies an object independently of its name: the key of a topic is its id.
"""

from collections.abc import Callable, Collection, Hashable, Iterator
from functools import partial
from typing import Any

import msgspec

from records.json import field_json, fields_json
from records.text import uuid_text
from replay.image.features import ZkMigration
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.parts import PARTS, Part
from replay.image.topics import Topic
from replay.time_travel.escapes import unescaped
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
)

Key = Hashable
Fields = dict[str, Any]


class Kind(msgspec.Struct, frozen=True):
    """One kind of object, stored in one or several parts of the image.

    `objects` yields key and value of every object; if a value is the same Python object in two
    images, the object has not changed. `find` returns the key for a name in the form of `label`,
    None if the image has no such object. It raises ValueError if the name is invalid for this kind,
    or ambiguous. `is_renamed`: an object may have another label in another image.
    """

    name: str
    parts: tuple[str, ...]
    objects: Callable[[MetadataImage], Iterator[tuple[Any, Any]]]
    find: Find
    label: Label
    fields: Callable[[MetadataImage, Any], Fields | None]
    differing: Callable[[MetadataImage, MetadataImage, Any], "FieldsOfTwo"] | None = None
    is_renamed: bool = False

    def fields_of_two(self, before: MetadataImage, after: MetadataImage, key: Any) -> "FieldsOfTwo":
        """Return the fields of an object in two images; fields that are equal may be left out."""
        if self.differing is not None:
            return self.differing(before, after, key)
        return self.fields(before, key), self.fields(after, key)


FieldsOfTwo = tuple[Fields | None, Fields | None]


def _without(
    struct: msgspec.Struct | None, names: Collection[str] = (), later: Collection[str] = ()
) -> Fields | None:
    """Return the fields as JSON, without `names`, and without those of `later` that are empty."""
    if struct is None:
        return None
    return {
        name: value
        for name, value in fields_json(struct).items()
        if name not in names and (value or name not in later)
    }


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
    hidden = {*of.key, *of.beside}.difference(shown)
    return Kind(
        name,
        (part,),
        partial(_pairs, part),
        find or listed(name, part, label),
        label,
        lambda image, key: _without(of.get(image, key), hidden, of.later),
        partial(_differing, of, hidden),
        is_renamed,
    )


def _differing(
    of: Part, hidden: Collection[str], before: MetadataImage, after: MetadataImage, key: Any
) -> FieldsOfTwo:
    """Return the fields of an object in two images.

    If both images have the object, only the fields that differ are returned: most changes concern
    few fields, and formatting ids as text is slow.
    """
    return _fields_of_two(of, hidden, of.get(before, key), of.get(after, key))


def _fields_of_two(
    of: Part, hidden: Collection[str], old: msgspec.Struct | None, new: msgspec.Struct | None
) -> FieldsOfTwo:
    if old is None or new is None:
        return _without(old, hidden, of.later), _without(new, hidden, of.later)
    names = [
        name
        for name in old.__struct_fields__
        if name not in hidden and getattr(old, name) != getattr(new, name)
    ]
    return _some(old, names, of.later), _some(new, names, of.later)


def _some(struct: msgspec.Struct, names: Collection[str], later: Collection[str]) -> Fields:
    pairs = ((name, field_json(struct, name)) for name in names)
    return {name: value for name, value in pairs if value or name not in later}


def _topic_fields(image: MetadataImage, topic_id: Any) -> Fields | None:
    topic: Topic | None = image.topic(topic_id)
    if topic is None:
        return None
    return {
        "topic_id": uuid_text(topic.topic_id),
        "name": image.full_name(topic),
        "partitions": len(image.partitions(topic_id)),
    }


def _topics(image: MetadataImage) -> Iterator[tuple[Any, Any]]:
    for topic in image.topics():
        # The namespace's name and the partitions are shown too.
        namespace = topic.namespace_id and image.namespace(topic.namespace_id)
        yield topic.topic_id, (topic, namespace, len(image.partitions(topic.topic_id)))


_CLUSTER_PARTS = ("producer_ids", "zk_migration", "kraft_version")


def _cluster(image: MetadataImage) -> Iterator[tuple[Any, Any]]:
    """Return the objects of the parts with at most one object; the key is the name of the part."""
    return ((part, each) for part in _CLUSTER_PARTS for each in PARTS[part].objects(image))


def _cluster_fields(image: MetadataImage, key: Any) -> Fields | None:
    value = dict(_cluster(image)).get(key)
    return {"state": image.zk_migration} if isinstance(value, ZkMigration) else _without(value)


_PARTITIONS = PARTS["partitions"]
_PARTITION_HIDDEN = frozenset({*_PARTITIONS.key, *_PARTITIONS.beside})


def partition_fields(partition: Partition | None) -> Fields | None:
    """Return the fields of a partition as the kind `partition` does, but without an image."""
    return _without(partition, _PARTITION_HIDDEN)


def partition_fields_of_two(old: Partition, new: Partition) -> FieldsOfTwo:
    """Return the fields that differ between two states of a partition, without images."""
    return _fields_of_two(_PARTITIONS, _PARTITION_HIDDEN, old, new)


_ALL = (
    Kind("topic", ("topics",), _topics, topic_key, topic_label, _topic_fields, is_renamed=True),
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
        lambda image, key: dict(sorted(image.config(*key).items())) or None,
    ),
    Kind(
        "feature",
        ("features",),
        partial(_pairs, "features"),
        lambda image, name: None if image.feature(unescaped(name)) is None else unescaped(name),
        text_label,
        lambda image, key: {"level": image.feature(key)} if image.feature(key) else None,
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
        _CLUSTER_PARTS,
        _cluster,
        lambda image, name: name if name in dict(_cluster(image)) else None,
        text_label,
        _cluster_fields,
    ),
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}


def _voter_set_fields(image: MetadataImage, _: Any) -> Fields | None:
    kind = KINDS["voter"]
    ids = sorted(voter.voter_id for voter in image.voters())
    return {str(voter_id): kind.fields(image, voter_id) for voter_id in ids} or None


VOTERS = "voters"
"""Name of the set of all voters: an object whose fields are the voters."""

VOTER_SET = msgspec.structs.replace(
    KINDS["voter"],
    objects=lambda image: iter([(VOTERS, image.voters())] if any(image.voters()) else ()),
    find=lambda image, name: VOTERS if any(image.voters()) else None,
    label=lambda image, key: VOTERS,
    fields=_voter_set_fields,
)
