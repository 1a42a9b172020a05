"""Object names: `topic:orders`, `partition:orders/0#leader`."""

import re
from typing import Any

import msgspec

from records.errors import RequestError
from replay.image.metadata import MetadataImage
from replay.name_patterns import is_pattern
from replay.time_travel.kinds import KINDS, VOTER_SET, VOTERS, Fields, Kind
from replay.time_travel.labels import unescaped

# Objects that are named after a topic or namespace: what comes before its name, and after it.
_OF_TOPIC = re.compile(r"((?:topic|partition|removal|deletion):|config:topic/)([^/#]+)(.*)", re.S)
_OF_NAMESPACE = re.compile(r"(namespace:)([^/#]+)(.*)", re.S)


class ObjectName(msgspec.Struct, frozen=True):
    """A parsed object name. It may mean different objects at different offsets.

    Attributes:
        text: The whole name as written.
        name: The part after the kind, still escaped.
        field: The field, unescaped; None means all fields.
    """

    text: str
    kind: Kind
    name: str
    field: str | None

    @property
    def object(self) -> str:
        """The name without its field."""
        return f"{self.kind.name}:{self.name}"

    def key(self, image: MetadataImage) -> Any:
        """Return the key of the object with this name in an image, None if it is absent.

        Raises:
            RequestError: INVALID_REQUEST, the name is invalid for its kind, or ambiguous.
        """
        try:
            return self.kind.find(image, self.name)
        except ValueError as error:
            raise RequestError("INVALID_REQUEST", f"{self.text}: {error}") from error

    def fields(self, image: MetadataImage) -> Fields | None:
        """Return the requested fields, None if the object is absent."""
        return self.fields_of(self.key(image), image)

    def fields_of(self, key: Any, image: MetadataImage) -> Fields | None:
        """Return the requested fields of the object with a key, None if it is absent."""
        found = None if key is None else self.kind.fields(image, key)
        if found is None or self.field is None:
            return found
        return {name: value for name, value in found.items() if name == self.field}

    def by_id(self, key: Any) -> "ObjectName":
        """Return the object's name by id, such as `topic:@ID`, which stays valid after a move."""
        label = self.kind.label(MetadataImage.EMPTY, key)
        return msgspec.structs.replace(self, text=f"{self.kind.name}:{label}", name=label)


class InTopic(msgspec.Struct, frozen=True):
    """An object's name or pattern, split into its topic or namespace and the text around it.

    Attributes:
        kind: `topic` or `namespace`.
        ref: The topic or namespace: its label, or `@ID`.
    """

    kind: str
    before: str
    ref: str
    after: str

    @property
    def is_by_id(self) -> bool:
        """True if the topic or namespace is given as `@ID`."""
        return self.ref.startswith("@")

    @property
    def is_labelled_by_id(self) -> bool:
        """True if labels of this kind contain the topic's id, as the topic may be deleted."""
        return self.before == "deletion:"

    def named(self, ref: str) -> str:
        """Return the name or pattern with its topic or namespace replaced by `ref`."""
        return f"{self.before}{ref}{self.after}"


def in_topic(text: str) -> InTopic | None:
    """Split an object's name or pattern; None if it contains no topic or namespace."""
    for kind, of in (("topic", _OF_TOPIC), ("namespace", _OF_NAMESPACE)):
        if found := of.fullmatch(text):
            return InTopic(kind, *found.groups())
    return None


def names_by_id(text: str) -> bool:
    """True if the topic or namespace in an object's name or pattern is given as `@ID`."""
    found = in_topic(text)
    return found is not None and found.is_by_id


def is_label(text: str) -> bool:
    """True if a name or pattern is already in the form of labels, so no image is needed."""
    found = in_topic(text)
    if found is None or found.is_by_id == found.is_labelled_by_id:
        return True
    return not found.is_by_id and is_pattern(found.ref)


def label_in(text: str, image: MetadataImage) -> str | None:
    """Return an object's name or pattern in the form of the image's labels.

    A topic or namespace given as `@ID` gets its name in the image: `partition:@ID/*` becomes
    `partition:orders/*`. The topic of a deletion gets its id. All else is returned as it is.

    Returns:
        None if the image has no such topic or namespace.

    Raises:
        RequestError: INVALID_REQUEST, the text after `@` is no id; an id has no wildcards.
    """
    found = in_topic(text)
    if found is None or is_label(text):
        return text
    kind = KINDS[found.kind]
    try:
        key = kind.find(image, found.ref)
    except ValueError as error:
        raise RequestError("INVALID_REQUEST", f"{text}: {error}") from error
    if key is None:
        return None
    return found.named(kind.label(MetadataImage.EMPTY if found.is_labelled_by_id else image, key))


def parse_object(text: str) -> ObjectName:
    """Parse a name such as `config:topic/orders#retention.ms`, or `voters` for all voters.

    Raises:
        RequestError: the name is malformed or its kind unknown; the message lists the kinds.
    """
    whole, hash_, field = text.partition("#")
    if whole == VOTERS and not hash_:
        return ObjectName(text, VOTER_SET, VOTERS, None)
    kind, colon, name = whole.partition(":")
    if not colon or kind not in KINDS or not name or (hash_ and not field) or "#" in field:
        raise RequestError(
            "INVALID_REQUEST",
            f"{text!r} names no object; write KIND:NAME or KIND:NAME#FIELD, "
            f"KIND one of {', '.join(KINDS)}; a # inside a name is written %23",
        )
    return ObjectName(text, KINDS[kind], name, unescaped(field) or None)
