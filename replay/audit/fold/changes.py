"""Computes effective changes: the fields whose value a record changes.

Most changes are of partitions; these are computed by operations on columns (partition_changes.py).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow

from replay.audit.fold.objects import ABORT, BEGIN, CONTROL, END
from replay.audit.fold.plans import Plans
from replay.audit.fold.said import Said
from replay.audit.fold.settings import Setting, config, settings, voter
from replay.audit.fold.texts import id_text
from replay.audit.fold.topic_names import TOPIC_RESOURCE, Fields

CHANGES = pyarrow.schema(
    [
        ("offset", pyarrow.int64()),
        ("timestamp", pyarrow.int64()),
        *((name, pyarrow.string()) for name in ("kind", "id", "name", "field", "before", "after")),
        *((name, pyarrow.string()) for name in ("record", "principal", "command", "reason")),
        ("in_effect", pyarrow.bool_()),
        ("asked_offset", pyarrow.int64()),
        *((name, pyarrow.string()) for name in ("asked_principal", "asked_reason")),
    ]
)
"""The columns of changes; `asked_...` are null unless the record carries out an earlier request."""

Row = tuple[Any, ...]
"""A change: one value for each column of `CHANGES`."""

_Asked = tuple[int | None, str | None, str | None]
_NOBODY: _Asked = (None, None, None)

_Key = tuple[str, str | None, str, str]
"""Identifies an object: kind, topic, head and rest, as in `Setting`."""


class Changes:
    """Computes the changes that records make, except to partitions; takes records in log order."""

    def __init__(self, kept_from: int = 0) -> None:
        """Begin before the first record.

        Args:
            kept_from: First offset after the base. A record of the base is never the one that asked
                for a change, because the base only says what the state was.
        """
        self._kept_from = kept_from
        self._plans = Plans()
        self._spaces: dict[str, str] = {}
        self._values: dict[_Key, dict[str, str]] = defaultdict(dict)
        # What the records of an aborted transaction would have set.
        self._aborted: dict[_Key, dict[str, str | None]] = defaultdict(dict)
        self._of_topics: dict[str, dict[_Key, None]] = defaultdict(dict)
        self._names: dict[str, str] = {}
        self._holders: dict[str, str] = {}
        self._waiting: dict[str, list[tuple[Said, bool]]] = defaultdict(list)
        self._voters: dict[int, None] = {}

    def of_all(self, records: Iterable[Said]) -> Iterator[Row]:
        """Yield the changes that the next records of a log make, in order.

        The changes of a transaction are yielded at its end, and never if it stays open. At the end,
        changes of configs whose topics do not exist are yielded, including those of earlier calls.
        """
        open_: list[Said] | None = None
        for said in records:
            if said.name in (BEGIN, END, ABORT):
                for each in open_ or ():
                    yield from self.of(each, in_effect=said.name == END or each.name in CONTROL)
                self._aborted.clear()
                open_ = [] if said.name == BEGIN else None
            elif open_ is None:
                yield from self.of(said, in_effect=True)
            else:
                open_.append(said)
        yield from self._of_no_topic()

    def of(self, said: Said, *, in_effect: bool) -> Iterator[Row]:
        """Yield the changes of one record; `in_effect` is false if its transaction was aborted."""
        name, fields = said.name, said.fields
        if name in ("TopicRecord", "MoveTopicRecord") and in_effect:
            yield from self._take_name(fields)
        if name == "NamespaceRecord" and in_effect:
            self._spaces[id_text(fields["namespace_id"])] = fields["name"]
        if name == "RemoveTopicRecord":
            yield from self._remove_topic(said, in_effect)
        elif name == "VotersRecord":
            yield from self._set_voters(said, in_effect)
        elif name == "ConfigRecord" and fields["resource_type"] == TOPIC_RESOURCE:
            holder = self._holders.get(fields["resource_name"])
            if holder is None:
                self._waiting[fields["resource_name"]].append((said, in_effect))
            else:
                yield from self._set(said, config(fields, holder), in_effect)
        else:
            for each in settings(name, fields):
                yield from self._set(said, each, in_effect)
        if in_effect and said.position >= self._kept_from:
            self._plans.apply(said)

    def _of_no_topic(self) -> Iterator[Row]:
        for waiting in self._waiting.values():
            configs = [(said, config(said.fields), in_effect) for said, in_effect in waiting]
            # What the same records set before, at the end of earlier records.
            _, (kind, _, topic, head, rest), _ = configs[0]
            self._values.pop((kind, topic, head, rest), None)
            self._aborted.pop((kind, topic, head, rest), None)
            for each in configs:
                yield from self._set(*each)

    def _take_name(self, topic: Fields) -> Iterator[Row]:
        topic_id, namespace_id = topic["topic_id"], topic.get("namespace_id")
        space = self._spaces.get(id_text(namespace_id)) if namespace_id else None
        name = topic["name"] if space is None else f"{space}:{topic['name']}"
        for said, in_effect in self._waiting.pop(name, ()):
            yield from self._set(said, config(said.fields, topic_id), in_effect)
        self._leave_name(topic_id)
        self._names[topic_id] = name
        self._holders[name] = topic_id

    def _leave_name(self, topic_id: str) -> None:
        name = self._names.get(topic_id, "")
        if self._holders.get(name) == topic_id:
            del self._holders[name]

    def _remove_topic(self, said: Said, in_effect: bool) -> Iterator[Row]:
        topic_id = said.fields["topic_id"]
        for key in self._of_topics[topic_id]:
            gone = dict.fromkeys(self._values[key] | self._aborted[key])
            kind, topic, head, rest = key
            yield from self._set(said, Setting(kind, gone, topic, head, rest), in_effect)
        if in_effect:
            self._leave_name(topic_id)

    def _set_voters(self, said: Said, in_effect: bool) -> Iterator[Row]:
        listed = {each["voter_id"]: each for each in said.fields.get("voters", ())}
        self._voters.update(dict.fromkeys(listed))
        for voter_id in self._voters:
            yield from self._set(said, voter(voter_id, listed.get(voter_id)), in_effect)

    def _set(self, said: Said, setting: Setting, in_effect: bool) -> Iterator[Row]:
        kind, fields, topic, head, rest = setting
        key = (kind, topic, head, rest)
        values, aborted = self._values[key], self._aborted
        id_, name, asked = "", "", _NOBODY
        for field, after in fields.items():
            before = values.get(field)
            if not in_effect:
                before = aborted[key].get(field, before)
                aborted[key][field] = after
            elif after is None:
                values.pop(field, None)
            else:
                values[field] = after
            if before != after:
                if not id_:
                    # Replicas may be deleted when their topic is gone.
                    if topic is not None and kind != "replica_deletions":
                        self._of_topics[topic][key] = None
                    id_, name = self._labels(setting)
                    asked = self._asked(said, setting) if in_effect else _NOBODY
                yield (
                    said.position,
                    said.timestamp,
                    kind,
                    id_,
                    name,
                    field,
                    before,
                    after,
                    said.name,
                    said.principal,
                    said.command,
                    said.reason,
                    in_effect,
                    *asked,
                )

    def _asked(self, said: Said, setting: Setting) -> _Asked:
        if setting.kind not in ("pending_partition_removals", "replica_deletions"):
            return _NOBODY
        found = self._plans.asked(said.name, said.fields, int(setting.rest.split("/")[1]))
        return _NOBODY if found is None else (found.position, found.principal, found.reason)

    def _labels(self, setting: Setting) -> tuple[str, str]:
        topic = setting.topic
        if topic is None:
            label = f"{setting.head}{setting.rest}"
            return label, self._name_of_space(setting) or label
        text = id_text(topic)
        full_name = self._names.get(topic, text)
        return f"{setting.head}{text}{setting.rest}", f"{setting.head}{full_name}{setting.rest}"

    def _name_of_space(self, setting: Setting) -> str | None:
        """Return the name of the namespace that a setting creates or removes; None for others."""
        if setting.kind != "namespaces":
            return None
        return setting.fields["name"] or self._spaces.get(setting.rest)
