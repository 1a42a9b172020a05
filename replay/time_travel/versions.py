"""Versions of the objects that people name: the offset of the last record that touched each."""

from collections.abc import Callable
from typing import Any

from replay.image.metadata import MetadataImage
from replay.image.versions import VersionsImage

_VERSIONS: dict[str, Callable[[VersionsImage, Any], int]] = {
    "topic": VersionsImage.topic,
    "partition": lambda versions, key: versions.partition(*key),
    "namespace": VersionsImage.namespace,
    "config": VersionsImage.config,
}

VERSIONED_KINDS = tuple(_VERSIONS)
"""Kinds of objects that have versions."""


def object_version(image: MetadataImage, kind: str, key: Any) -> int:
    """Return the version of an object that an image holds; UNKNOWN: before the kept history.

    Args:
        kind: One of VERSIONED_KINDS.
        key: As `Kind.find` gives it.
    """
    return _VERSIONS[kind](image.versions, key)
