"""Object names: `topic:orders`, `partition:orders/0#leader`."""

from typing import Any

import msgspec

from records.errors import RequestError
from replay.image.metadata import MetadataImage
from replay.time_travel.escapes import unescaped
from replay.time_travel.kinds import KINDS, VOTER_SET, VOTERS, Fields, Kind


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
        """Return the name of the object with a key that is the same after the object was moved."""
        label = self.kind.label(MetadataImage.EMPTY, key)
        return msgspec.structs.replace(self, text=f"{self.kind.name}:{label}", name=label)


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
