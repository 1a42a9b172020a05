"""Versions of objects: what an optimistic writer names to say which state it has seen.

The version of an object is the offset of the last record that touched it (docs/replay.md).
"""

import msgspec

from records.errors import RequestError
from replay.image.metadata import MetadataImage
from replay.time_travel.objects import parse_object
from replay.time_travel.versions import VERSIONED_KINDS, object_version

ABSENT = "absent"
"""How people write the version of what does not exist."""


class ExpectedVersion(msgspec.Struct, frozen=True):
    """An object, such as `partition:orders/0`, and the version in which it must be.

    None: it must not exist.
    """

    object: str
    version: int | None


class VersionMismatchError(RequestError):
    """An object is not in the version that was expected; `current` is the one it is in."""

    def __init__(self, expected: ExpectedVersion, current: int | None) -> None:
        super().__init__(
            "INVALID_UPDATE_VERSION",
            f"{expected.object} is at version {version_text(current)}, expected "
            f"{version_text(expected.version)}; read it again, then decide",
        )
        self.current = current


def version_text(version: int | None) -> str:
    """Return a version as people write it."""
    return ABSENT if version is None else str(version)


def version_of(image: MetadataImage, name: str) -> int | None:
    """Return the version of an object in an image, None when it does not exist.

    Raises:
        RequestError: INVALID_REQUEST, no object that has versions can have that name.
    """
    object_ = parse_object(name)
    if object_.kind.name not in VERSIONED_KINDS or object_.field is not None:
        raise RequestError(
            "INVALID_REQUEST",
            f"{name!r} has no version; name a {', '.join(VERSIONED_KINDS)} without a field",
        )
    key = object_.key(image)
    return None if key is None else object_version(image, object_.kind.name, key)


def check_version(image: MetadataImage, expected: ExpectedVersion) -> None:
    """Refuse to go on from another state than the one expected.

    Raises:
        RequestError: as `version_of`.
        VersionMismatchError: INVALID_UPDATE_VERSION.
    """
    current = version_of(image, expected.object)
    if current != expected.version:
        raise VersionMismatchError(expected, current)
