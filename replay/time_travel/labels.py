"""Labels of objects: converts between the names used in queries and the keys in an image.

For each kind of object there is a function that returns the label of a key, and one that returns
the key of a label, None if an image has no such object.

Labels have percent escapes: a `#` separates an object from its field, and a `,` separates the parts
of a quota's entity. Topic names contain neither, but users, groups, authors and config keys may:
there they are written `%23` and `%2C`. No other character needs an escape, so `100%` is written as
it is.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any

from records.text import parse_uuid, uuid_text
from replay.image.configs import RESOURCE_NAMES, RESOURCE_TYPES, TOPIC
from replay.image.metadata import MetadataImage
from replay.image.parts import PARTS
from replay.image.quotas import QuotaEntity

Find = Callable[[MetadataImage, str], Any]
Label = Callable[[MetadataImage, Any], str]
_REMOVALS, _DELETIONS = PARTS["pending_partition_removals"], PARTS["replica_deletions"]
_NOTES = PARTS["notes"]

# ASCII digits, of bounded length: int() also takes other digits, and rejects more than 4,300.
_NUMBER = re.compile(r"[0-9]{1,4000}")
# The number of digits that the record's int type can have.
_RESOURCE_CODE = re.compile(r"[0-9]{1,3}")
_DEFAULT_ENTITY = "<default>"
_NOTE_DIGITS = 16
_SCRAM_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
_ESCAPES = {"%23": "#", "%2C": ",", "%25": "%", "%3C": "<"}
_ESCAPE = re.compile("|".join(_ESCAPES))
_OF = {char: escape for escape, char in _ESCAPES.items()}


def escaped(text: str, special: str = "#") -> str:
    """Return the text with the characters in `special` escaped (any of `#`, `,` and `<`)."""
    if "%" in text:
        text = _ESCAPE.sub(lambda match: "%25" + match[0][1:], text)
    for char in special:
        if char in text:
            text = text.replace(char, _OF[char])
    return text


def unescaped(text: str) -> str:
    """Return the text with the escapes of `escaped` undone."""
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)


def topic_key(image: MetadataImage, name: str) -> bytes | None:
    """Return the id of a topic by its name or `@ID`."""
    if name.startswith("@"):
        topic = image.topic(parse_uuid(name[1:]))
    else:
        topic = image.topic_by_full_name(unescaped(name))
    return None if topic is None else topic.topic_id


def topic_label(image: MetadataImage, topic_id: Any) -> str:
    """Return a topic's full name; `@ID` if the image has no such topic."""
    topic = image.topic(topic_id)
    return f"@{uuid_text(topic_id)}" if topic is None else escaped(image.full_name(topic))


def _in_topic(image: MetadataImage, name: str, what: str, *numbers: str) -> Any:
    """Parse `TOPIC/NUMBER...`, with the topic by name or `@ID`; None if there is no such topic."""
    topic, *found = name.rsplit("/", len(numbers))
    if len(found) < len(numbers) or not all(map(_NUMBER.fullmatch, found)):
        raise ValueError(f"{name!r} is no {what}: write TOPIC/{'/'.join(numbers)}")
    topic_id = topic_key(image, topic)
    return None if topic_id is None else (topic_id, *map(int, found))


def partition_key(image: MetadataImage, name: str) -> Any:
    """Return the key of a partition by `TOPIC/NUMBER`."""
    key = _in_topic(image, name, "partition", "NUMBER")
    return None if key is None or image.partition(*key) is None else key


def removal_key(image: MetadataImage, name: str) -> Any:
    """Return the key of a partition's pending removal by `TOPIC/NUMBER`."""
    key = _in_topic(image, name, "removal of a partition", "NUMBER")
    return None if key is None or _REMOVALS.get(image, key) is None else key


def deletion_key(image: MetadataImage, name: str) -> Any:
    """Return the key of the replica deletion with this name, None if there is none.

    If the topic no longer exists, the name contains the topic's id.
    """
    topic_id = name.partition("/")[0]
    if topic_id.startswith("@") and image.topic(parse_uuid(topic_id[1:])) is None:
        keys = map(_DELETIONS.key_of, _DELETIONS.objects(image))
        return next((key for key in keys if deletion_label(image, key) == name), None)
    key = _in_topic(image, name, "deletion of a replica", "NUMBER", "BROKER")
    return None if key is None or _DELETIONS.get(image, key) is None else key


def deletion_label(_: MetadataImage, key: Any) -> str:
    """Return `@TOPIC-ID/NUMBER/BROKER`: the topic may no longer exist."""
    return f"@{uuid_text(key[0])}/{key[1]}/{key[2]}"


def by_number(get: Callable[[MetadataImage, int], Any]) -> Callable[[MetadataImage, str], Any]:
    """Return a function that finds an object by its number."""

    def find(image: MetadataImage, name: str) -> int | None:
        if not _NUMBER.fullmatch(name):
            raise ValueError(f"{name!r} is not an id: write a number")
        return None if get(image, int(name)) is None else int(name)

    return find


def namespace_key(image: MetadataImage, name: str) -> Any:
    """Return the id of a namespace by its name or `@ID`."""
    if name.startswith("@"):
        namespace = image.namespace(parse_uuid(name[1:]))
    else:
        namespace = image.namespace_by_name(unescaped(name))
    return None if namespace is None else namespace.namespace_id


def namespace_label(image: MetadataImage, namespace_id: Any) -> str:
    """Return a namespace's name; `@ID` if the image has no such namespace."""
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


def config_key(image: MetadataImage, name: str) -> Any:
    """Return type and name of a resource by `TYPE/NAME`; a topic may be given as `@ID`."""
    code, resource_name = config_resource(name)
    if code == TOPIC and resource_name.startswith("@"):
        topic = image.topic(parse_uuid(resource_name[1:]))
        if topic is None:
            return None
        resource_name = image.full_name(topic)
    else:
        resource_name = unescaped(resource_name)
    return (code, resource_name) if image.config(code, resource_name) else None


def config_label(_: MetadataImage, key: Any) -> str:
    """Return `TYPE/NAME`."""
    return f"{RESOURCE_NAMES.get(key[0], key[0])}/{escaped(key[1])}"


def acl_key(image: MetadataImage, name: str) -> Any:
    """Return the id of an ACL by the id as text, with or without `@`."""
    acl = image.acl(parse_uuid(name.removeprefix("@")))
    return None if acl is None else acl.id


def quota_label(_: MetadataImage, key: Any) -> str:
    """Return `ENTITY/KEY`, such as `client-id=x,user=ann/producer_byte_rate`."""
    entity, quota = key
    return f"{entity_text(entity)}/{escaped(quota)}"


def entity_text(entity: QuotaEntity) -> str:
    """Return a quota's entity as written in labels, such as `client-id=x,user=ann`."""
    return ",".join(f"{escaped(kind, '#,')}={_entity_name(name)}" for kind, name in entity)


def quota_key(image: MetadataImage, name: str) -> Any:
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


def note_label(_: MetadataImage, key: Any) -> str:
    """Return `OFFSET/AUTHOR/HASH`; the hash distinguishes an author's notes at the same offset."""
    digest = hashlib.sha256(key[2].encode("utf-8", "surrogatepass")).hexdigest()
    return f"{_note_place(key)}/{digest[:_NOTE_DIGITS]}"


def _note_place(key: Any) -> str:
    return f"{key[0]}/{escaped(key[1])}"


def note_key(image: MetadataImage, name: str) -> Any:
    """Return the key of a note by its label, or by offset and author if that is unique."""
    keys = [_NOTES.key_of(each) for each in _NOTES.objects(image)]
    for key in keys:
        if note_label(image, key) == name:
            return key
    found = [key for key in keys if _note_place(key) == name]
    if len(found) > 1:
        labels = ", ".join(sorted(f"note:{note_label(image, key)}" for key in found))
        raise ValueError(f"{len(found)} notes have this offset and author; give one of {labels}")
    return found[0] if found else None


def listed(name: str, part: str, label: Label) -> Find:
    """Return a function that finds an object of a part by its label.

    The function compares a name with the labels of all objects, so it is for kinds with few
    objects. A `,` in a name needs no escape as long as the name is unambiguous.
    """
    of = PARTS[part]

    def find(image: MetadataImage, wanted: str) -> Any:
        keys = map(of.key_of, of.objects(image))
        labels = {label(image, key): key for key in keys}
        if wanted in labels:
            return labels[wanted]
        found = [text for text in labels if unescaped(text) == unescaped(wanted)]
        if len(found) > 1:
            known = " or ".join(sorted(f"{name}:{text}" for text in found))
            raise ValueError(f"{wanted!r} stands for {len(found)} objects: write {known}")
        return labels[found[0]] if found else None

    return find


_quota_by_label = listed("quota", "client_quotas", quota_label)


def partition_label(image: MetadataImage, key: Any) -> str:
    """Return `TOPIC/NUMBER`; also used for pending removals."""
    return f"{topic_label(image, key[0])}/{key[1]}"


def scram_label(_: MetadataImage, key: Any) -> str:
    """Return `USER/MECHANISM`."""
    return f"{escaped(key[0])}/{_SCRAM_MECHANISMS.get(key[1], key[1])}"


def text_label(_: MetadataImage, key: Any) -> str:
    """Return the key as text."""
    return escaped(str(key))
