"""Kinds of objects: presents an image as objects with named fields, for all queries.

Each kind can name its objects, list them, and return an object's fields as JSON values. A key
identifies an object independently of its name: the key of a topic is its id. Labels are escaped
(see `escapes`), and `find` returns the object of a label.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Hashable, Iterator
from functools import partial
from typing import Any

import msgspec

from records.json import field_json, fields_json
from records.text import parse_uuid, uuid_text
from replay.image.configs import RESOURCE_NAMES, RESOURCE_TYPES, TOPIC
from replay.image.features import ZkMigration
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.parts import PARTS, Part
from replay.image.quotas import QuotaEntity
from replay.image.topics import Topic
from replay.time_travel.escapes import escaped, unescaped

Key = Hashable
Fields = dict[str, Any]

# ASCII digits, of bounded length: int() also takes other digits, and rejects more than 4,300.
_NUMBER = re.compile(r"[0-9]{1,4000}")
# The number of digits that the record's int type can have.
_RESOURCE_CODE = re.compile(r"[0-9]{1,3}")
_DEFAULT_ENTITY = "<default>"
_NOTE_DIGITS = 16
_SCRAM_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


Find = Callable[[MetadataImage, str], Any]
Label = Callable[[MetadataImage, Any], str]
_REMOVALS, _DELETIONS = PARTS["pending_partition_removals"], PARTS["replica_deletions"]


class Kind(msgspec.Struct, frozen=True):
    """One kind of object, stored in one or several parts of the image.

    `objects` yields key and value of every object; if a value is the same Python object in two
    images, the object has not changed. `find` returns the key for a name in the form of `label`,
    None if the image has no such object. It raises ValueError if the name is invalid for this kind,
    or ambiguous.
    """

    name: str
    parts: tuple[str, ...]
    objects: Callable[[MetadataImage], Iterator[tuple[Any, Any]]]
    find: Find
    label: Label
    fields: Callable[[MetadataImage, Any], Fields | None]
    differing: Callable[[MetadataImage, MetadataImage, Any], "FieldsOfTwo"] | None = None

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
    name: str, part: str, label: Label, find: Find | None = None, *, shown: Collection[str] = ()
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
        find or _listed(name, part, label),
        label,
        lambda image, key: _without(of.get(image, key), hidden, of.later),
        partial(_differing, of, hidden),
    )


def _differing(
    of: Part, hidden: Collection[str], before: MetadataImage, after: MetadataImage, key: Any
) -> FieldsOfTwo:
    """Return the fields of an object in two images.

    If both images have the object, only the fields that differ are returned: most changes concern
    few fields, and formatting ids as text is slow.
    """
    old, new = of.get(before, key), of.get(after, key)
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


def _topic_key(image: MetadataImage, name: str) -> bytes | None:
    if name.startswith("@"):
        topic = image.topic(parse_uuid(name[1:]))
    else:
        topic = image.topic_by_full_name(unescaped(name))
    return None if topic is None else topic.topic_id


def _topic_label(image: MetadataImage, topic_id: Any) -> str:
    topic = image.topic(topic_id)
    return f"@{uuid_text(topic_id)}" if topic is None else escaped(image.full_name(topic))


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


def _in_topic(image: MetadataImage, name: str, what: str, *numbers: str) -> Any:
    """Parse `TOPIC/NUMBER...`, with the topic by name or `@ID`; None if there is no such topic."""
    topic, *found = name.rsplit("/", len(numbers))
    if len(found) < len(numbers) or not all(map(_NUMBER.fullmatch, found)):
        raise ValueError(f"{name!r} is no {what}: write TOPIC/{'/'.join(numbers)}")
    topic_id = _topic_key(image, topic)
    return None if topic_id is None else (topic_id, *map(int, found))


def _partition_key(image: MetadataImage, name: str) -> Any:
    key = _in_topic(image, name, "partition", "NUMBER")
    return None if key is None or image.partition(*key) is None else key


def _removal_key(image: MetadataImage, name: str) -> Any:
    key = _in_topic(image, name, "removal of a partition", "NUMBER")
    return None if key is None or _REMOVALS.get(image, key) is None else key


def _deletion_key(image: MetadataImage, name: str) -> Any:
    """Return the key of the replica deletion with this name, None if there is none.

    If the topic no longer exists, the name contains the topic's id.
    """
    topic_id = name.partition("/")[0]
    if topic_id.startswith("@") and image.topic(parse_uuid(topic_id[1:])) is None:
        keys = map(_DELETIONS.key_of, _DELETIONS.objects(image))
        return next((key for key in keys if _deletion_label(image, key) == name), None)
    key = _in_topic(image, name, "deletion of a replica", "NUMBER", "BROKER")
    return None if key is None or _DELETIONS.get(image, key) is None else key


def _deletion_label(_: MetadataImage, key: Any) -> str:
    return f"@{uuid_text(key[0])}/{key[1]}/{key[2]}"


def _by_number(get: Callable[[MetadataImage, int], Any]) -> Callable[[MetadataImage, str], Any]:
    def find(image: MetadataImage, name: str) -> int | None:
        if not _NUMBER.fullmatch(name):
            raise ValueError(f"{name!r} is not an id: write a number")
        return None if get(image, int(name)) is None else int(name)

    return find


def _namespace_key(image: MetadataImage, name: str) -> Any:
    if name.startswith("@"):
        namespace = image.namespace(parse_uuid(name[1:]))
    else:
        namespace = image.namespace_by_name(unescaped(name))
    return None if namespace is None else namespace.namespace_id


def _namespace_label(image: MetadataImage, namespace_id: Any) -> str:
    namespace = image.namespace(namespace_id)
    return f"@{uuid_text(namespace_id)}" if namespace is None else escaped(namespace.name)


def config_resource(name: str) -> tuple[int, str]:
    """Return type and name of a resource from `TYPE/NAME`, where TYPE is a word or a number.

    Raises:
        ValueError: the text has another form.
    """
    resource, slash, resource_name = name.partition("/")
    code = RESOURCE_TYPES.get(resource)
    if code is None and _RESOURCE_CODE.fullmatch(resource):
        code = int(resource)
    if not slash or code is None:
        known = ", ".join(RESOURCE_TYPES)
        raise ValueError(f"{name!r} is not a config resource: write TYPE/NAME, TYPE one of {known}")
    return code, resource_name


def _config_key(image: MetadataImage, name: str) -> Any:
    code, resource_name = config_resource(name)
    if code == TOPIC and resource_name.startswith("@"):
        topic = image.topic(parse_uuid(resource_name[1:]))
        if topic is None:
            return None
        resource_name = image.full_name(topic)
    else:
        resource_name = unescaped(resource_name)
    return (code, resource_name) if image.config(code, resource_name) else None


def _config_label(_: MetadataImage, key: Any) -> str:
    return f"{RESOURCE_NAMES.get(key[0], key[0])}/{escaped(key[1])}"


def _acl_key(image: MetadataImage, name: str) -> Any:
    acl = image.acl(parse_uuid(name.removeprefix("@")))
    return None if acl is None else acl.id


def _quota_label(_: MetadataImage, key: Any) -> str:
    entity, quota = key
    return f"{entity_text(entity)}/{escaped(quota)}"


def entity_text(entity: QuotaEntity) -> str:
    """Return a quota's entity as written in labels, such as `client-id=x,user=ann`."""
    return ",".join(f"{escaped(kind, '#,')}={_entity_name(name)}" for kind, name in entity)


def _quota_key(image: MetadataImage, name: str) -> Any:
    """Return the key of a quota by its label; the parts of its entity may be in any order."""
    found = _quota_by_label(image, name)
    if found is not None:
        return found
    entity, slash, quota = name.rpartition("/")
    return _quota_by_label(image, f"{','.join(sorted(entity.split(',')))}{slash}{quota}")


def _entity_name(name: str | None) -> str:
    if name is None:
        return _DEFAULT_ENTITY
    return escaped(name, "#,<" if name == _DEFAULT_ENTITY else "#,")


def _note_label(_: MetadataImage, key: Any) -> str:
    """Return a note's label, with a hash: an author may write several notes at an offset."""
    digest = hashlib.sha256(key[2].encode("utf-8", "surrogatepass")).hexdigest()
    return f"{_note_place(key)}/{digest[:_NOTE_DIGITS]}"


def _note_place(key: Any) -> str:
    return f"{key[0]}/{escaped(key[1])}"


def _note_key(image: MetadataImage, name: str) -> Any:
    """Return the key of a note by its label, or by offset and author if that is unique."""
    keys = [key for key, _ in _pairs("notes", image)]
    for key in keys:
        if _note_label(image, key) == name:
            return key
    found = [key for key in keys if _note_place(key) == name]
    if len(found) > 1:
        labels = " or ".join(sorted(f"note:{_note_label(image, key)}" for key in found))
        raise ValueError(f"there are {len(found)} such notes: write {labels}")
    return found[0] if found else None


_CLUSTER_PARTS = ("producer_ids", "zk_migration", "kraft_version")


def _cluster(image: MetadataImage) -> Iterator[tuple[Any, Any]]:
    """Return the objects of the parts with at most one object; the key is the name of the part."""
    return ((part, each) for part in _CLUSTER_PARTS for each in PARTS[part].objects(image))


def _cluster_fields(image: MetadataImage, key: Any) -> Fields | None:
    value = dict(_cluster(image)).get(key)
    return {"state": image.zk_migration} if isinstance(value, ZkMigration) else _without(value)


def _listed(name: str, part: str, label: Label) -> Find:
    """Return a `Kind.find` function that compares a name with the labels of all objects.

    For kinds with few objects. A `,` in a name needs no escape as long as the name is unambiguous.
    """

    def find(image: MetadataImage, wanted: str) -> Any:
        labels = {label(image, key): key for key, _ in _pairs(part, image)}
        if wanted in labels:
            return labels[wanted]
        found = [text for text in labels if unescaped(text) == unescaped(wanted)]
        if len(found) > 1:
            known = " or ".join(sorted(f"{name}:{text}" for text in found))
            raise ValueError(f"{wanted!r} stands for {len(found)} objects: write {known}")
        return labels[found[0]] if found else None

    return find


_quota_by_label = _listed("quota", "client_quotas", _quota_label)


def partition_fields(partition: Partition | None) -> Fields | None:
    """Return the fields of a partition as the kind `partition` does, but without an image."""
    of = PARTS["partitions"]
    return _without(partition, {*of.key, *of.beside})


def _partition_label(image: MetadataImage, key: Any) -> str:
    return f"{_topic_label(image, key[0])}/{key[1]}"


def _scram_label(_: MetadataImage, key: Any) -> str:
    return f"{escaped(key[0])}/{_SCRAM_MECHANISMS.get(key[1], key[1])}"


def _text_label(_: MetadataImage, key: Any) -> str:
    return escaped(str(key))


_ALL = (
    Kind("topic", ("topics",), _topics, _topic_key, _topic_label, _topic_fields),
    _kind("partition", "partitions", _partition_label, _partition_key),
    _kind("broker", "brokers", _text_label, _by_number(MetadataImage.broker)),
    _kind("controller", "controllers", _text_label, _by_number(MetadataImage.controller)),
    _kind("voter", "voters", _text_label, _by_number(MetadataImage.voter)),
    _kind(
        "namespace", "namespaces", _namespace_label, _namespace_key, shown=PARTS["namespaces"].key
    ),
    Kind(
        "config",
        ("configs",),
        lambda image: iter(image.configs()),
        _config_key,
        _config_label,
        lambda image, key: dict(sorted(image.config(*key).items())) or None,
    ),
    Kind(
        "feature",
        ("features",),
        partial(_pairs, "features"),
        lambda image, name: None if image.feature(unescaped(name)) is None else unescaped(name),
        _text_label,
        lambda image, key: {"level": image.feature(key)} if image.feature(key) else None,
    ),
    _kind("acl", "acls", lambda _, key: uuid_text(key), _acl_key),
    _kind("quota", "client_quotas", _quota_label, _quota_key),
    _kind("scram", "scram", _scram_label),
    _kind("token", "delegation_tokens", _text_label, shown=PARTS["delegation_tokens"].key),
    _kind("removal", "pending_partition_removals", _partition_label, _removal_key),
    _kind("deletion", "replica_deletions", _deletion_label, _deletion_key),
    _kind("note", "notes", _note_label, _note_key, shown=PARTS["notes"].key),
    Kind(
        "cluster",
        _CLUSTER_PARTS,
        _cluster,
        lambda image, name: name if name in dict(_cluster(image)) else None,
        _text_label,
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
