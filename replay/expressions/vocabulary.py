"""Names in expressions: the collections of an image, their objects, and the objects' fields.

All of them are derived from the tables of parts and kinds, so that none is missing. Objects have
the same names as everywhere else (`topic:orders` is `topics["orders"]`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, get_type_hints

import msgspec

from records.base import ZERO_UUID, Uuid
from records.json import field_json, fields_json
from records.secrets import REDACTED, SECRET_FIELDS, is_secret_config
from replay.expressions.values import Absent, Env, Token
from replay.image.configs import TOPIC
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER, Partition
from replay.image.parts import PARTS
from replay.time_travel.affected import types_reaching
from replay.time_travel.kinds import KINDS, Kind

NAMES: Token = ("names",)
"""Token read by a lookup by topic name or over all topics; touched when a topic's name changes."""
PARTITIONS: Token = ("partitions",)
"""Token read by iterating over all partitions; touched when one is created or removed."""


class Shape(msgspec.Struct, frozen=True):
    """Static type of a value: the fields of an object or the type of a collection's elements.

    If both are None, the type is not known before evaluation.
    """

    name: str = "value"
    fields: "Mapping[str, Shape] | None" = None
    element: "Shape | None" = None


PLAIN = Shape()


class Thing(msgspec.Struct, frozen=True, gc=False):
    """A topic, partition, broker or controller, whose fields are read directly from the image."""

    kind: str
    key: Any
    value: Any

    def select(self, env: Env, field: str) -> Any:
        """Return a field as a JSON value or as a collection of objects.

        Raises:
            Absent: there is no such field.
        """
        if self.kind == "topic":
            return _topic_field(env, self, field)
        if field not in FIELDS[self.kind]:
            raise Absent
        return plain_field(self.value, field)


def plain_field(struct: msgspec.Struct, field: str) -> Any:
    """Return a field of a structure as a JSON value."""
    value = getattr(struct, field)
    if value is None or type(value) in _SIMPLE:
        return value
    return field_json(struct, field)


_SIMPLE = frozenset({int, bool, str, float})
_NAMED_BY_TOPIC = frozenset({"topic", "partition", "config", "removal", "deletion"})


class Objects:
    """A collection of objects, which can be looked up by name, counted, or iterated over.

    `keyed` is True if a change of one object touches a token with the object's key.
    """

    keyed = False

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._part = PARTS[kind.parts[0]]
        self._any: Token = (kind.name,)

    def get(self, env: Env, name: Any) -> Any:
        """Return the object with a name.

        Raises:
            Absent: there is none.
        """
        env.reads.add(self._any)
        found = self.at(env.image, self._key(env, name))
        if found is None:
            raise Absent
        return found

    def size(self, env: Env) -> int:
        """Return the number of objects."""
        env.reads.add(self.members)
        return sum(1 for _ in self.kind.objects(env.image))

    @property
    def members(self) -> Token:
        """Token for the set of objects that exist; touched when an object is added or removed."""
        return self._any

    def elements(self, env: Env) -> list[tuple[Callable[[], str], Any]]:
        """Return the objects in a fixed order, each with a function that returns its name."""
        elements: list[tuple[Callable[[], str], Any]]
        if self not in env.listed:
            image = env.image
            keys = sorted(self.keys(image), key=repr)
            elements = [(partial(self.label, image, key), self.at(image, key)) for key in keys]
            env.listed[self] = elements, self._reads_of_all(keys)
        elements, reads = env.listed[self]
        env.reads |= reads
        return elements

    def _reads_of_all(self, keys: Iterable[Any]) -> frozenset[Token]:
        """Return the tokens touched when any object is changed, added or removed."""
        return frozenset({self._any})

    def keys(self, image: MetadataImage) -> Iterator[Any]:
        """Iterate over the keys of the objects, in any order."""
        return (key for key, _ in self.kind.objects(image))

    def things(self, image: MetadataImage) -> Iterator[tuple[Any, Any]]:
        """Iterate over pairs of key and object, in any order."""
        return ((key, self.at(image, key)) for key in self.keys(image))

    def things_unlike(
        self, image: MetadataImage, fields: Sequence[str], is_usual: Callable[["Thing"], bool]
    ) -> Iterator[tuple[Any, Any]]:
        """Iterate over pairs of key and object, leaving out some that are usual.

        Args:
            fields: The fields on which alone it depends whether an object is usual.
        """
        return self.things(image)

    def at(self, image: MetadataImage, key: Any) -> Any:
        """Return the object with a key, None if there is none."""
        if key is None:
            return None
        if self.kind.name == "config":
            return _config(image.config(*key)) or None
        fields = self.kind.fields(image, key)
        if fields is None:
            return None
        if self.kind.name != "cluster":
            fields = _public(self.kind, self._part.get(image, key)) | fields
        return _redacted(self.kind.name, fields)

    def touches(self, token: Token) -> bool:
        """True if a token belongs to a single object of this collection."""
        return False

    def label(self, image: MetadataImage, key: Any) -> str:
        """Return the name of an object."""
        return REDACTED if self.kind.name == "token" else self.kind.label(image, key)

    def _key(self, env: Env, name: Any) -> Any:
        if self.kind.name in _NAMED_BY_TOPIC:
            env.reads.add(NAMES)  # another topic may take the name
        try:
            return self.kind.find(env.image, str(name))
        except (ValueError, OverflowError):
            return None


class _Keyed(Objects):
    """A collection whose objects each have a token, touched when the object changes."""

    keyed = True

    def get(self, env: Env, name: Any) -> Any:
        key = self._key(env, name)
        # What does not exist is noticed when any other comes.
        env.reads.add(self.members if key is None else (self.kind.name, key))
        found = self.at(env.image, key)
        if found is None:
            raise Absent
        return found

    def at(self, image: MetadataImage, key: Any) -> Any:
        if key is None or self.kind.name == "config":
            return super().at(image, key)
        value = self._part.get(image, key)
        return None if value is None else Thing(self.kind.name, key, value)

    def touches(self, token: Token) -> bool:
        return len(token) == 2 and token[0] == self.kind.name


class _InTopics(_Keyed):
    """Topics or partitions: each has its own token, but no token covers all of them."""

    def _reads_of_all(self, keys: Iterable[Any]) -> frozenset[Token]:
        return frozenset({self.members, *((self.kind.name, key) for key in keys)})


class _Topics(_InTopics):
    members = NAMES

    def size(self, env: Env) -> int:
        env.reads.add(NAMES)
        return env.image.topic_count


_SOME = Partition(ZERO_UUID, 0, (), (), (), (), NO_LEADER, 0, 0, 0)


class _Partitions(_InTopics):
    members = PARTITIONS

    def at(self, image: MetadataImage, key: Any) -> Any:
        if key is None:
            return None
        value = image.partition(*key)
        return None if value is None else Thing("partition", key, value)

    def things(self, image: MetadataImage) -> Iterator[tuple[Any, Any]]:
        for key, value in self.kind.objects(image):
            yield key, Thing("partition", key, value)

    def things_unlike(
        self, image: MetadataImage, fields: Sequence[str], is_usual: Callable[[Thing], bool]
    ) -> Iterator[tuple[Any, Any]]:
        @cache
        def are_usual(values: tuple[object, ...]) -> bool:
            some = msgspec.structs.replace(_SOME, **dict(zip(fields, values, strict=True)))
            return is_usual(Thing("partition", None, some))

        for entry in image.topic_entries_unlike(fields, are_usual):
            for each in entry.partitions:
                key = each.topic_id, each.partition_id
                yield key, Thing("partition", key, each)

    def size(self, env: Env) -> int:
        env.reads.add(PARTITIONS)
        return env.image.partition_count


class PartitionsOf(msgspec.Struct, frozen=True, gc=False):
    """The partitions of one topic: a list whose index is the partition id."""

    topic_id: Uuid

    def get(self, env: Env, partition_id: Any) -> Thing:
        """Return the partition with an id.

        Raises:
            Absent: there is none.
        """
        if not isinstance(partition_id, int):
            raise Absent
        key = (self.topic_id, partition_id)
        env.reads.add(("partition", key))
        found = env.image.partition(*key)
        if found is None:
            raise Absent
        return Thing("partition", key, found)

    def size(self, env: Env) -> int:
        """Return the number of partitions."""
        env.reads.add(("topic", self.topic_id))
        return len(env.image.partitions(self.topic_id))

    def elements(self, env: Env) -> Iterator[Thing]:
        """Iterate over the partitions, ordered by id."""
        env.reads.add(("topic", self.topic_id))
        for each in env.image.partitions(self.topic_id):
            yield Thing("partition", (self.topic_id, each.partition_id), each)


def _topic_field(env: Env, topic: Thing, field: str) -> Any:
    if field == "partitions":
        return PartitionsOf(topic.key)
    if field == "name":
        return env.image.full_name(topic.value)
    if field == "configs":
        resource = (TOPIC, env.image.full_name(topic.value))
        env.reads.add(("config", resource))
        return _config(env.image.config(*resource))
    if field == "namespace":
        namespace_id = topic.value.namespace_id
        namespace = None if namespace_id is None else env.image.namespace(namespace_id)
        return "" if namespace is None else namespace.name
    if field not in FIELDS["topic"]:
        raise Absent
    return field_json(topic.value, field)


def _config(values: Mapping[str, str]) -> dict[str, str]:
    return _redacted("config", dict(values))


def _public(kind: Kind, struct: msgspec.Struct) -> dict[str, Any]:
    beside = PARTS[kind.parts[0]].beside
    return {name: each for name, each in fields_json(struct).items() if name not in beside}


_SECRET = {
    "scram": SECRET_FIELDS["UserScramCredentialRecord"],
    "token": {*SECRET_FIELDS["DelegationTokenRecord"], "token_id"},
}


def _redacted(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with secrets redacted.

    Otherwise a condition could be used to find out a secret letter by letter.
    """
    if kind == "config":
        return {name: REDACTED if is_secret_config(name) else v for name, v in fields.items()}
    secret = _SECRET.get(kind)
    if secret is None:
        return fields
    return {name: REDACTED if name in secret else value for name, value in fields.items()}


_MORE_FIELDS = {"topic": ("partitions", "configs", "namespace"), "feature": ("level",)}


def _fields_of(kind: Kind) -> tuple[str, ...]:
    if kind.name == "cluster":
        return ()
    part = PARTS[kind.parts[0]]
    own = [name for name in get_type_hints(part.object_type) if name not in part.beside]
    return (*own, *_MORE_FIELDS.get(kind.name, ()))


FIELDS: dict[str, tuple[str, ...]] = {
    name: () if name == "config" else _fields_of(kind) for name, kind in KINDS.items()
}
"""Fields by kind of object; empty for `config` (its fields are its keys) and `cluster`."""

_CLASSES = {
    "topic": _Topics,
    "partition": _Partitions,
    "broker": _Keyed,
    "controller": _Keyed,
    "config": _Keyed,
}
# Those that have no plural.
_SINGULAR = ("cluster", "scram")

PLAIN_KINDS = frozenset({"partition", "broker", "controller"})
"""Kinds of objects whose fields are exactly the fields of a struct in the image."""

COLLECTIONS: dict[str, Objects] = {
    name if name in _SINGULAR else f"{name}s": _CLASSES.get(name, Objects)(kind)
    for name, kind in KINDS.items()
}
"""The names that an expression begins with."""


def _shape(kind: str) -> Shape:
    if not FIELDS[kind]:
        return PLAIN
    fields = dict.fromkeys(FIELDS[kind], PLAIN)
    if kind == "topic":
        fields["partitions"] = Shape("partitions", element=_shape("partition"))
    return Shape(kind, fields=fields)


SHAPES: dict[str, Shape] = {
    name: Shape(name, element=_shape(each.kind.name)) for name, each in COLLECTIONS.items()
}
"""The shape of each collection."""

_ALSO_READ = {"topics": ("topic", "partition", "config", "namespace")}


def record_types_of(collections: frozenset[str]) -> frozenset[type]:
    """Return the types of records that can change objects of these collections."""
    kinds = {
        kind
        for name in collections
        for kind in _ALSO_READ.get(name, (COLLECTIONS[name].kind.name,))
    }
    return frozenset(type_ for kind in kinds for type_ in types_reaching(kind))
