"""Versions of objects, for optimistic concurrency: a request gives the version it is based on.

The version of an object is the offset of the last record that changed it (docs/replay.md).
"""

import re
from typing import Self

import msgspec

from records.errors import Outcome, RequestError
from replay.image.metadata import MetadataImage
from replay.time_travel.kinds import VERSIONED_KINDS, object_version
from replay.time_travel.objects import ObjectName, parse_object

ABSENT = "absent"
"""Text form of the version of an object that does not exist."""

_NUMBER = re.compile("-?[0-9]{1,19}")


class ExpectedVersion(msgspec.Struct, frozen=True):
    """An object, such as `partition:orders/0`, and the version it must have.

    A version of None means that the object must not exist.
    """

    object: str
    version: int | None


class VersionMismatchError(RequestError):
    """Raised if an object does not have the expected version; `current` is its version."""

    def __init__(
        self,
        expected: ExpectedVersion,
        current: int | None,
        message: str | None = None,
        *,
        outcome: Outcome | None = None,
        done_to: int | None = None,
    ) -> None:
        usual = f"{expected.object} {_standing(expected, current)}; read it again, then decide"
        super().__init__(
            "INVALID_UPDATE_VERSION", message or usual, outcome=outcome, done_to=done_to
        )
        self.expected = expected
        self.current = current

    @classmethod
    def from_texts(cls, object_: str, expected: str, current: str, message: str) -> Self:
        """Return the error with fields parsed from their text forms, the inverse of `texts`.

        Raises:
            ValueError: a version is malformed.
        """
        return cls(
            ExpectedVersion(object_, parse_version(expected)), parse_version(current), message
        )

    def texts(self) -> tuple[str, str, str]:
        """Return object, expected and current version in their text form for connections."""
        return self.expected.object, version_text(self.expected.version), version_text(self.current)

    def with_outcome(
        self, outcome: Outcome, message: str | None = None, *, done_to: int | None = None
    ) -> "VersionMismatchError":
        """Return the same error with another outcome, and with another message if given."""
        text = str(self) if message is None else message
        return VersionMismatchError(
            self.expected, self.current, text, outcome=outcome, done_to=done_to
        )


def _standing(expected: ExpectedVersion, current: int | None) -> str:
    if current is None:
        return f"does not exist, expected version {expected.version}"
    if expected.version is None:
        return f"exists at version {current}, expected that it does not exist"
    return f"is at version {current}, expected {expected.version}"


def version_text(version: int | None) -> str:
    """Return a version's text form."""
    return ABSENT if version is None else str(version)


def parse_version(text: str) -> int | None:
    """Parse a version's text form, the inverse of `version_text`.

    Raises:
        ValueError: the text is malformed.
    """
    if text != ABSENT and not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a version; write an offset, or {ABSENT}")
    return None if text == ABSENT else int(text)


def versioned_object(name: str) -> ObjectName:
    """Parse the name of an object that has a version.

    Raises:
        RequestError: INVALID_REQUEST, the name is malformed or of a kind without versions.
    """
    kind, _, rest = name.partition(":")
    if kind not in VERSIONED_KINDS or not rest or "#" in name:
        kinds = ", ".join(VERSIONED_KINDS)
        raise RequestError(
            "INVALID_REQUEST",
            f"{name!r} has no version; write KIND:NAME, KIND one of {kinds}",
        )
    return parse_object(name)


def version_of(image: MetadataImage, name: str) -> int | None:
    """Return the version of an object in an image, None if it does not exist.

    Raises:
        RequestError: as `versioned_object`.
    """
    object_ = versioned_object(name)
    key = object_.key(image)
    return None if key is None else object_version(image, object_.kind.name, key)


def check_version(image: MetadataImage, expected: ExpectedVersion) -> None:
    """Check that an object has the expected version.

    Raises:
        RequestError: as `version_of`.
        VersionMismatchError: INVALID_UPDATE_VERSION.
    """
    current = version_of(image, expected.object)
    if current != expected.version:
        raise VersionMismatchError(expected, current)
