"""Differences between two clusters, or two states of one cluster, by object name; ignores ids."""

from collections.abc import Iterable, Iterator, Mapping

from replay.image.metadata import MetadataImage
from replay.time_travel.changes import Change, field_changes, natural
from replay.time_travel.kinds import KINDS, Fields
from replay.time_travel.objects import ObjectName

# Fields that differ between any two clusters: ids, and counters of what happened.
_LEFT_ASIDE = frozenset(
    {
        *("topic_id", "namespace_id", "parent_id", "directories", "log_dirs", "incarnation_id"),
        *("broker_epoch", "leader_epoch", "partition_epoch"),
    }
)
# Kinds whose objects say nothing about how a cluster is set up.
_KINDS_LEFT_ASIDE = frozenset({"note", "cluster", "deletion"})


NamedFields = Mapping[str, Mapping[str, Fields]]
"""Fields by kind, then by the object's name."""


def diff_by_name(
    before: MetadataImage, after: MetadataImage, only: ObjectName | None = None
) -> list[Change]:
    """Return the fields that differ in objects of the same name, ordered by kind and name.

    ACLs have no name and are compared by content: an ACL that is in both images is never returned.

    Args:
        only: Compare only this object or field.
    """
    return diff_named(_by_name(before, only), _by_name(after, only))


def diff_named(before: NamedFields, after: NamedFields) -> list[Change]:
    """Return the fields that differ between two results of `named`, like `diff_by_name`."""
    changes: list[Change] = []
    for kind in KINDS:
        old, new = before.get(kind, {}), after.get(kind, {})
        for label in sorted({*old, *new}, key=natural):
            changes += field_changes(f"{kind}:{label}", old.get(label), new.get(label))
    return changes


def named(objects: Iterable[tuple[str, str, Fields]], field: str | None = None) -> NamedFields:
    """Return the fields to compare, by kind and name; ids and counters are dropped.

    Args:
        objects: Kind, name and fields of each object.
        field: Keep only this field.
    """
    found: dict[str, dict[str, Fields]] = {}
    for kind, label, fields in objects:
        if kind in _KINDS_LEFT_ASIDE:
            continue
        kept = {
            name: value
            for name, value in fields.items()
            if name not in _LEFT_ASIDE and field in (None, name)
        }
        name = ",".join(map(str, kept.values())) if kind == "acl" else label
        found.setdefault(kind, {})[name] = kept
    return found


def _by_name(image: MetadataImage, only: ObjectName | None) -> NamedFields:
    if only is None:
        return named(_objects(image))
    key = only.key(image)
    if key is None:
        return {}
    kind = only.kind
    return named([(kind.name, kind.label(image, key), kind.fields(image, key) or {})], only.field)


def _objects(image: MetadataImage) -> Iterator[tuple[str, str, Fields]]:
    for kind in KINDS.values():
        for key, _ in kind.objects(image):
            yield kind.name, kind.label(image, key), kind.fields(image, key) or {}
