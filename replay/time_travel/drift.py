"""What differs between two clusters, or two states of one, by name: ids are left aside."""

from collections.abc import Mapping

from replay.image.metadata import MetadataImage
from replay.time_travel.changes import Change, field_changes, natural
from replay.time_travel.kinds import KINDS, Fields, Kind
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


def diff_by_name(
    before: MetadataImage, after: MetadataImage, only: ObjectName | None = None
) -> list[Change]:
    """Return the fields in which objects of the same name differ, ordered by kind and name.

    An ACL has no name but what it says: one that is in both is no difference.

    Args:
        only: Only this object or field.
    """
    changes: list[Change] = []
    for kind in KINDS.values():
        if kind.name in _KINDS_LEFT_ASIDE or (only is not None and only.kind is not kind):
            continue
        old, new = _by_name(kind, before, only), _by_name(kind, after, only)
        for label in sorted({*old, *new}, key=natural):
            changes += field_changes(f"{kind.name}:{label}", old.get(label), new.get(label))
    return changes


def _by_name(kind: Kind, image: MetadataImage, only: ObjectName | None) -> Mapping[str, Fields]:
    if only is not None:
        keys = [key for key in (only.key(image),) if key is not None]
    else:
        keys = [key for key, _ in kind.objects(image)]
    found = {}
    for key in keys:
        fields = {
            name: value
            for name, value in (kind.fields(image, key) or {}).items()
            if name not in _LEFT_ASIDE and (only is None or only.field in (None, name))
        }
        is_acl = kind.name == "acl"
        label = ",".join(map(str, fields.values())) if is_acl else kind.label(image, key)
        found[label] = fields
    return found
