"""Versions of named objects: the offset of the last record that touched each object."""

from collections.abc import Callable
from typing import Any

from replay.image.metadata import MetadataImage
from replay.image.versions import UNKNOWN


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
"""Kinds of objects that have versions."""


def object_version(image: MetadataImage, kind: str, key: Any) -> int:
    """Return the version of an existing object; UNKNOWN if it is older than the kept history.

    Args:
        kind: One of VERSIONED_KINDS.
        key: From `Kind.find`.
    """
    return _VERSIONS[kind](image, key)
