"""Names of topics that metrics do not distinguish, because they differ only by '.' and '_'."""

from typing import TypeAlias

from immutables import Map, MapMutation

from records.base import Uuid
from replay.image.topics import Topic

_Key: TypeAlias = tuple[Uuid | None, str]
"""A namespace, and a name with every '.' as '_'."""

CollidingNames: TypeAlias = Map[_Key, tuple[str, ...]]
"""The names with a '.' or '_' that have the same key."""

NameChanges: TypeAlias = MapMutation[_Key, tuple[str, ...]]


def colliding_name(names: CollidingNames, namespace_id: Uuid | None, name: str) -> str | None:
    """Return an existing name that metrics do not distinguish from this one."""
    return names.get((namespace_id, _unified(name)), (None,))[0] if _may_collide(name) else None


def forget_name(names: NameChanges, topic: Topic | None) -> None:
    """Remove the name of a topic."""
    if topic is not None and _may_collide(topic.name):
        key = (topic.namespace_id, _unified(topic.name))
        left = tuple([name for name in names[key] if name != topic.name])
        if left:
            names[key] = left
        else:
            del names[key]


def learn_name(names: NameChanges, topic: Topic | None) -> None:
    """Add the name of a topic."""
    if topic is not None and _may_collide(topic.name):
        key = (topic.namespace_id, _unified(topic.name))
        names[key] = tuple(sorted((*names.get(key, ()), topic.name)))


def _may_collide(name: str) -> bool:
    return "." in name or "_" in name


def _unified(name: str) -> str:
    return name.replace(".", "_")
