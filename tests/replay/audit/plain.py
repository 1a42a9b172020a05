"""Answers to audit queries, computed in plain Python from the records of a log."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from records import brokers, configs, control, partitions, security, topics
from records.base import Uuid
from records.envelope import Envelope
from records.text import uuid_text

HOUR_MS = 3_600_000

_FIELDS = (
    *("leader", "isr", "replicas", "adding_replicas", "removing_replicas"),
    *("eligible_leader_replicas", "leader_recovery_state", "mode"),
)
_UNSET = {"leader": -2, "leader_recovery_state": -1}

State = dict[str, Any] | None


def in_effect(rows: Iterable[Envelope]) -> Iterator[Envelope]:
    """Yield the rows that took effect; those of aborted and open transactions did not."""
    pending: list[Envelope] | None = None
    for row in rows:
        match row.payload:
            case control.BeginTransactionRecord():
                pending = []
            case control.EndTransactionRecord():
                yield from pending or ()
                pending = None
            case control.AbortTransactionRecord():
                pending = None
            case _ if pending is None:
                yield row
            case _:
                pending.append(row)


@dataclasses.dataclass(frozen=True)
class Step:
    """A record that changed the state of an object; the state is None if the object was removed."""

    row: Envelope
    state: State

    @property
    def offset(self) -> int:
        return self.row.offset

    @property
    def time(self) -> int:
        return self.row.timestamp


class Histories:
    """The successive states of partitions and brokers."""

    def __init__(self, rows: Sequence[Envelope], first: int) -> None:
        self.first = first
        upto = [row for row in rows if row.offset <= first]
        self.first_time = upto[-1].timestamp
        last = rows[-1]
        # NoOps stored as one record go on after the record's own time.
        self.last_time = last.timestamp
        if isinstance(last.payload, control.NoOpRunRecord):
            self.last_time = last.payload.last_timestamp
        self.of_partitions: dict[str, list[Step]] = {}
        self.of_brokers: dict[str, list[Step]] = {}
        for row in in_effect(rows):
            self._take(row)

    def _take(self, row: Envelope) -> None:
        match row.payload:
            case partitions.PartitionRecord() | partitions.PartitionChangeRecord() as record:
                key = f"{uuid_text(record.topic_id)}/{record.partition_id}"
                self._partition(row, key, record)
            case topics.RemoveTopicRecord(topic_id=topic_id):
                for key in self.of_partitions:
                    if key.startswith(f"{uuid_text(topic_id)}/"):
                        _add(self.of_partitions, key, row, None)
            case partitions.RemovePartitionsRecord(topic_id=topic_id, partition_ids=ids):
                for number in ids:
                    _add(self.of_partitions, f"{uuid_text(topic_id)}/{number}", row, None)
            case _:
                self._broker(row)

    def _partition(self, row: Envelope, key: str, record: Any) -> None:
        state = dict(_last(self.of_partitions, key) or {})
        whole = isinstance(record, partitions.PartitionRecord)
        for field in _FIELDS:
            value = getattr(record, field)
            if whole and value is None:
                value = ()
            if whole or (value is not None and value != _UNSET.get(field)):
                state[field] = list(value) if isinstance(value, tuple) else value
        _add(self.of_partitions, key, row, state)

    def _broker(self, row: Envelope) -> None:
        record = row.payload
        match record:
            case brokers.RegisterBrokerRecord():
                state: State = {
                    "fenced": record.fenced,
                    "leaving": record.in_controlled_shutdown,
                }
                key = record.broker_id
            case brokers.UnregisterBrokerRecord():
                state, key = None, record.broker_id
            case brokers.FenceBrokerRecord() | brokers.UnfenceBrokerRecord():
                key = record.id
                is_fenced = isinstance(record, brokers.FenceBrokerRecord)
                state = {**(_last(self.of_brokers, str(key)) or {}), "fenced": is_fenced}
            case brokers.BrokerRegistrationChangeRecord():
                key = record.broker_id
                state = dict(_last(self.of_brokers, str(key)) or {})
                if record.fenced:
                    state["fenced"] = record.fenced == 1
                if record.in_controlled_shutdown == 1:
                    state["leaving"] = True
            case _:
                return
        _add(self.of_brokers, str(key), row, state)

    def ms(self, step: Step, following: Step | None) -> int | None:
        """Return how long a state lasted within the range; None if it did not occur in it."""
        if following is not None and following.offset <= self.first:
            return None
        start = step.time if step.offset >= self.first else self.first_time
        end = self.last_time if following is None else following.time
        return max(0, end - start)


def pairs(steps: Sequence[Step]) -> Iterator[tuple[Step, Step | None]]:
    """Yield each step with its successor."""
    yield from zip(steps, [*steps, None][1:], strict=True)


def _last(histories: dict[str, list[Step]], key: str) -> State:
    return histories[key][-1].state if key in histories else None


def _add(histories: dict[str, list[Step]], key: str, row: Envelope, state: State) -> None:
    if _last(histories, key) != state:
        histories.setdefault(key, []).append(Step(row, state))


def churn(past: Histories) -> Counter[tuple[int, str, str]]:
    """Count changed leaders and shrunk ISRs by hour and partition."""
    counted: Counter[tuple[int, str, str]] = Counter()
    for key, steps in past.of_partitions.items():
        for old, new in pairs(steps):
            if new is None or new.offset < past.first or not (old.state and new.state):
                continue
            where = (new.time // HOUR_MS * HOUR_MS, key)
            counted[(*where, "leader_changes")] += old.state["leader"] != new.state["leader"]
            counted[(*where, "isr_shrinks")] += len(new.state["isr"]) < len(old.state["isr"])
    return +counted


def availability(past: Histories) -> dict[str, tuple[int, int, int, int]]:
    """Return (outages, ms without a leader, shortages, ms under-replicated) of each partition."""
    found = {}
    for key, steps in past.of_partitions.items():
        counts, lengths, before = [0, 0], [0, 0], (False, False)
        for step, following in pairs(steps):
            ms = past.ms(step, following)
            if ms is None:
                continue
            state = step.state
            now = (False, False)
            # Else it is removed, or offline to be removed.
            if state is not None and (state["mode"], state["leader"]) != (-1, -1):
                wanted = {*state["replicas"]} - {*state["adding_replicas"]}
                now = (state["leader"] == -1, len(state["isr"]) < len(wanted))
            for n in range(2):
                counts[n] += now[n] and not before[n]
                lengths[n] += ms if now[n] else 0
            before = now
        if any(counts):
            found[key] = (counts[0], lengths[0], counts[1], lengths[1])
    return found


def unclean_elections(past: Histories) -> set[tuple[int, str, int]]:
    """Return (offset, partition, leader) of elections from outside the ISR."""
    found = set()
    for key, steps in past.of_partitions.items():
        for step, following in pairs(steps):
            if following is None or following.offset < past.first:
                continue
            old, new = step.state, following.state
            if old is None or new is None or new["leader"] in (-1, old["leader"], *old["isr"]):
                continue
            recovers = new["leader_recovery_state"] == 1
            was_eligible = new["leader"] in old["eligible_leader_replicas"]
            if (recovers and old["leader_recovery_state"] == 0) or (
                not was_eligible and (recovers or old["replicas"] == new["replicas"])
            ):
                found.add((following.offset, key, new["leader"]))
    return found


def reassignments(past: Histories) -> set[tuple[str, int, int | None, str]]:
    """Return (partition, first offset, end offset, outcome) of each reassignment."""
    found = set()
    for key, steps in past.of_partitions.items():
        begun: Step | None = None
        for step, following in pairs(steps):
            if step.state is None or not (
                step.state["adding_replicas"] or step.state["removing_replicas"]
            ):
                begun = None
                continue
            begun = begun or step
            after = following.state if following else None
            if after and (after["adding_replicas"] or after["removing_replicas"]):
                continue
            if following is not None and following.offset <= past.first:
                continue
            assert begun.state is not None
            source = set(begun.state["replicas"]) - set(begun.state["adding_replicas"])
            target = set(step.state["replicas"]) - set(step.state["removing_replicas"])
            outcome = "running" if following is None else "removed"
            if after:
                replicas = sorted(after["replicas"])
                outcome = "cancelled" if replicas == sorted(source) else "changed"
                outcome = "completed" if replicas == sorted(target) else outcome
            end = following.offset if following else None
            found.add((key, begun.offset, end, outcome))
    return found


def modes(past: Histories) -> set[tuple[str, int, int | None, int, int | None]]:
    """Return (partition, offset, mode before, mode, end offset) of each change of mode."""
    found = set()
    for key, steps in past.of_partitions.items():
        mode: int | None = None
        changed: list[tuple[int, int | None, int | None]] = []
        for step in steps:
            new = step.state["mode"] if step.state else None
            if new != mode:
                changed.append((step.offset, mode, new))
            mode = new
        kept = [each for each in changed if each[0] >= past.first]
        for (offset, old, new), following in zip(kept, [*kept, None][1:], strict=True):
            if new is not None and (old is not None or new != 0):
                found.add((key, offset, old, new, following[0] if following else None))
    return found


def placement(past: Histories) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the replicas and leaders of each broker at the end of each hour in which they
    changed.
    """
    moved: list[tuple[int, bool, int, int, int]] = []  # hour, in range, broker, replicas, leaders
    for steps in past.of_partitions.values():
        before: dict[str, Any] = {"leader": -1, "replicas": []}
        for step in steps:
            after = step.state or {"leader": -1, "replicas": []}
            where = (step.time // HOUR_MS * HOUR_MS, step.offset >= past.first)
            if before["replicas"] != after["replicas"]:
                moved += [(*where, broker, -1, 0) for broker in before["replicas"]]
                moved += [(*where, broker, 1, 0) for broker in after["replicas"]]
            if before["leader"] != after["leader"]:
                moved += [(*where, before["leader"], 0, -1), (*where, after["leader"], 0, 1)]
            before = after
    held = [each for each in moved if each[2] >= 0]
    found = {}
    for hour in {hour for hour, in_range, *_ in moved if in_range}:
        for broker in {broker for _, _, broker, _, _ in held}:
            of_it = [each for each in held if each[2] == broker and each[0] <= hour]
            found[hour, broker] = (sum(e[3] for e in of_it), sum(e[4] for e in of_it))
    return found


def fencing(past: Histories) -> set[tuple[str, int, str, int]]:
    """Return (broker, offset, state, ms in the range) of each state of a broker."""
    found = set()
    for key, steps in past.of_brokers.items():
        for step, following in pairs(steps):
            ms = past.ms(step, following)
            if ms is not None:
                state = step.state
                name = "unregistered" if state is None else "active"
                if state and state["fenced"]:
                    name = "fenced"
                elif state and state["leaving"]:
                    name = "shutting down"
                found.add((key, step.offset, name, ms))
    return found


def flapping(past: Histories) -> Counter[tuple[int, str, bool]]:
    """Count how often each broker was fenced (True) and unfenced, by hour."""
    counted: Counter[tuple[int, str, bool]] = Counter()
    for key, steps in past.of_brokers.items():
        for old, new in pairs(steps):
            if new and new.offset >= past.first and old.state and new.state:
                is_fenced = new.state["fenced"]
                if is_fenced is not old.state["fenced"]:
                    counted[new.time // HOUR_MS * HOUR_MS, key, is_fenced] += 1
    return counted


def topic_lives(
    rows: Iterable[Envelope], first: int
) -> set[tuple[str, str, int, int | None, str | None]]:
    """Return (full name, topic id, first offset, end offset, ended by) of each life of a name."""
    spaces: dict[Uuid, str] = {}
    open_: dict[Uuid, tuple[str, int]] = {}
    found: set[tuple[str, str, int, int | None, str | None]] = set()

    def end(topic_id: Uuid, row: Envelope) -> None:
        if topic_id in open_:
            name, since = open_.pop(topic_id)
            if row.offset >= first:
                by = type(row.payload).__name__
                found.add((name, uuid_text(topic_id), since, row.offset, by))

    for row in in_effect(rows):
        match row.payload:
            case topics.NamespaceRecord(namespace_id=space, name=name):
                spaces[space] = name
            case topics.TopicRecord() | topics.MoveTopicRecord() as record:
                space_name = record.namespace_id and spaces[record.namespace_id]
                full = f"{space_name}:{record.name}" if space_name else record.name
                if open_.get(record.topic_id, ("",))[0] != full:
                    end(record.topic_id, row)
                    open_[record.topic_id] = (full, row.offset)
            case topics.RemoveTopicRecord(topic_id=topic_id):
                end(topic_id, row)
    return found | {(name, uuid_text(id_), at, None, None) for id_, (name, at) in open_.items()}


def acl_changes(rows: Iterable[Envelope], first: int) -> list[tuple[Any, ...]]:
    """Return (offset, change, id, principal, host, resource) of ACLs added and removed."""
    held: dict[Uuid, tuple[str, str, str]] = {}
    found = []
    for row in in_effect(rows):
        match row.payload:
            case security.AccessControlEntryRecord() as acl:
                said = (acl.principal, acl.host, acl.resource_name)
                if acl.id not in held and row.offset >= first:
                    found.append((row.offset, "added", uuid_text(acl.id), *said))
                held[acl.id] = said
            case security.RemoveAccessControlEntryRecord(id=id_):
                said_before = held.pop(id_, None)
                if said_before and row.offset >= first:
                    found.append((row.offset, "removed", uuid_text(id_), *said_before))
    return sorted(found)


def scram_changes(rows: Iterable[Envelope], first: int) -> list[tuple[Any, ...]]:
    """Return (offset, change, user, mechanism) of SCRAM credentials."""
    held: dict[tuple[str, int], Any] = {}
    found = []
    for row in in_effect(rows):
        record = row.payload
        if not isinstance(
            record, security.UserScramCredentialRecord | security.RemoveUserScramCredentialRecord
        ):
            continue
        key = (record.name, record.mechanism)
        is_gone = isinstance(record, security.RemoveUserScramCredentialRecord)
        before, after = held.get(key), None if is_gone else record
        if before != after and row.offset >= first:
            change = "added" if before is None else "removed" if is_gone else "changed"
            found.append((row.offset, change, *key))
        held[key] = after
    return sorted(found)


def quota_changes(rows: Iterable[Envelope], first: int) -> list[tuple[Any, ...]]:
    """Return (offset, quota, before, after) of client quotas."""
    held: dict[Any, float | None] = {}
    found: list[tuple[Any, ...]] = []
    for row in in_effect(rows):
        record = row.payload
        if isinstance(record, configs.ClientQuotaRecord):
            key = (record.key, frozenset((e.entity_type, e.entity_name) for e in record.entity))
            before, after = held.get(key), None if record.remove else record.value
            if before != after and row.offset >= first:
                found.append((row.offset, record.key, before, after))
            held[key] = after
    return sorted(found, key=repr)
