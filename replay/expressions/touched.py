"""What records changed, in the terms in which expressions note what they read.

It is taken from the delta, so it is complete for whatever rule changed the image.
"""

from typing import Any

from replay.expressions.values import Token
from replay.expressions.vocabulary import NAMES, PARTITIONS
from replay.image.delta import MetadataDelta
from replay.image.parts import PARTS
from replay.time_travel.kinds import KINDS

_KIND_OF_FIELD = {
    PARTS[part].field or PARTS[part].name: kind.name
    for kind in KINDS.values()
    for part in kind.parts
}
# Those whose objects expressions note one by one, apart from topics.
_KEYED = frozenset({"broker", "controller", "config"})


def touched(delta: MetadataDelta) -> set[Token]:
    """Return what a delta changes, before it is applied; sometimes more, never less."""
    found: set[Token] = set()
    for field, part in delta.touched_parts():
        if field == "topics":
            _add_topics(found, delta)
            continue
        kind = _KIND_OF_FIELD[field]
        if kind in _KEYED:
            found.update((kind, key) for key in part.changed)
        if kind == "namespace":
            found.add(NAMES)
        found.add((kind,))
    return found


def _add_topics(found: set[Token], delta: MetadataDelta) -> None:
    topics, before = delta.topics, delta.image
    for topic_id in topics.changed:
        found.add(("topic", topic_id))
        old, new = before.topic(topic_id), topics.topic(topic_id)
        ids: Any = topics.changed_partitions(topic_id)
        if old != new:
            found.add(NAMES)
            # Their names changed, and those of a removed topic are gone.
            ids = {*ids, *(p.partition_id for p in before.partitions(topic_id))}
        found.update([("partition", (topic_id, partition_id)) for partition_id in ids])
        if topics.may_have_new_members(topic_id):
            found.add(PARTITIONS)
