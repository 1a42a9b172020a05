"""Random expressions about the objects of a history: every collection, field, operator and
macro.
"""

import json
import random
from collections.abc import Sequence
from typing import Any

from replay.expressions.vocabulary import COLLECTIONS, FIELDS
from replay.image.metadata import MetadataImage

_NUMBERS = {
    "topics": (),
    "partitions": ("leader", "leader_epoch", "partition_epoch", "mode", "leader_recovery_state"),
    "brokers": ("broker_epoch", "broker_id"),
}
_LISTS = ("isr", "replicas", "adding_replicas", "removing_replicas", "eligible_leader_replicas")


class Expressions:
    """Makes expressions about the objects in some images, and about some that never exist."""

    def __init__(self, rng: random.Random, images: Sequence[MetadataImage]) -> None:
        self._rng = rng
        labels: dict[str, set[str]] = {name: {"7"} for name in COLLECTIONS}
        for image in images:
            for name, objects in COLLECTIONS.items():
                labels[name].update(objects.kind.label(image, key) for key in objects.keys(image))
        self._labels = {name: sorted(found) for name, found in labels.items()}

    def some(self) -> str:
        """Return a random expression: a condition, or a value."""
        return self._path() if self._rng.random() < 0.25 else self.condition(2)

    def condition(self, depth: int) -> str:
        """Return a condition that combines others, up to a depth."""
        kind = self._rng.randrange(10)
        if depth and kind < 3:
            sign = self._rng.choice(("&&", "||"))
            return f"({self.condition(depth - 1)} {sign} {self.condition(depth - 1)})"
        if depth and kind == 3:
            return f"!({self.condition(depth - 1)})"
        if depth and kind == 4:
            return f"({self.condition(0)} ? {self.condition(0)} : {self.condition(0)})"
        makers = (self._equals, self._size, self._has, self._quantified, self._filtered, self._in)
        return self._rng.choice(makers)()

    def _object(self) -> tuple[str, str]:
        name = self._rng.choice(list(COLLECTIONS))
        return name, f"{name}[{json.dumps(self._rng.choice(self._labels[name]))}]"

    def _path(self) -> str:
        rng = self._rng
        name, path = self._object()
        kind = COLLECTIONS[name].kind.name
        if name == "topics" and rng.random() < 0.6:
            path, kind = f"{path}.partitions[{rng.randrange(4)}]", "partition"
        if kind == "config":
            key = rng.choice(("retention.ms", "cleanup.policy", "min.insync.replicas"))
            return f"{path}[{json.dumps(key)}]"
        if kind == "cluster":
            return rng.choice(
                ("cluster.producer_ids.next_producer_id", "cluster.zk_migration.state")
            )
        fields = [field for field in FIELDS[kind] if field not in ("partitions", "configs")]
        return f"{path}.{rng.choice(fields)}"

    def _equals(self) -> str:
        sign = self._rng.choice(("==", "!="))
        value: Any = self._rng.choice((-1, 0, 1, 2, 3, True, False, "", None, []))
        return f"{self._path()} {sign} {json.dumps(value)}"

    def _has(self) -> str:
        return f"has({self._path()})"

    def _in(self) -> str:
        name, _ = self._object()
        return f"{json.dumps(self._rng.choice(self._labels[name]))} in {name}"

    def _size(self) -> str:
        rng = self._rng
        of = rng.choice((*COLLECTIONS, f"{self._object_of('topics')}.partitions"))
        return f"size({of}) {rng.choice(('<', '<=', '>', '>=', '=='))} {rng.randrange(12)}"

    def _object_of(self, name: str) -> str:
        return f"{name}[{json.dumps(self._rng.choice(self._labels[name]))}]"

    def _of_partition(self) -> str:
        rng = self._rng
        return rng.choice(
            (
                f"x.{rng.choice(_NUMBERS['partitions'])} {rng.choice(('==', '<', '>='))} "
                f"{rng.randrange(-1, 4)}",
                f"{rng.randrange(1, 5)} in x.{rng.choice(_LISTS)}",
                "size(x.isr) < size(x.replicas)",
                "brokers[x.leader].fenced",
                f"x.isr.exists(i, brokers[i].fenced || i == {rng.randrange(1, 5)})",
                "x.isr.all(i, i in x.replicas)",
                "brokers.exists(b, b.broker_id == x.leader && !b.fenced)",
                'brokers.exists_one(n, b, n == string(x.leader) || b.rack == "")',
                f"topics.exists(t, size(t.partitions) > x.leader + {rng.randrange(3)})",
                f"size(partitions.filter(p, p.leader == x.leader)) < {rng.randrange(1, 9)}",
            )
        )

    def _of_topic(self) -> str:
        rng = self._rng
        macro = rng.choice(("exists", "all", "exists_one"))
        return rng.choice(
            (
                f"size(x.partitions) > {rng.randrange(4)}",
                f"x.partitions.{macro}(x, {self._of_partition()})",
                f"x.partitions[{rng.randrange(3)}].leader == {rng.randrange(-1, 4)}",
                'x.configs["retention.ms"] != ""',
                "size(x.configs) > 0",
                'x.name.contains("o")',
                "has(x.partitions[1])",
                f"size(x.partitions.filter(p, p.leader == -1)) > {rng.randrange(2)}",
            )
        )

    def _about(self, name: str) -> str:
        if name == "topics":
            return self._of_topic()
        if name == "partitions":
            return self._of_partition()
        if name == "brokers":
            return self._rng.choice(
                (
                    "x.fenced",
                    "!x.in_controlled_shutdown",
                    "size(x.end_points) > 0",
                    "x.rack == null",
                )
            )
        return self._rng.choice(("size(x) > 1", 'x["retention.ms"] == "1"'))

    def _quantified(self) -> str:
        rng = self._rng
        name = rng.choice(("topics", "partitions", "brokers", "configs"))
        macro = rng.choice(("exists", "all", "exists_one"))
        return f"{name}.{macro}(x, {self._about(name)})"

    def _filtered(self) -> str:
        rng = self._rng
        name = rng.choice(("topics", "partitions", "brokers", "configs"))
        found = f"{name}.filter(x, {self._about(name)})"
        return f"size({found}) {rng.choice(('<', '>', '=='))} {rng.randrange(6)}"
