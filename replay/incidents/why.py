"""Explains a partition's leader or ISR, or a broker's state, by a chain of records.

The log is skimmed: only records of the partition's topic and of brokers are decoded.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from records.base import Uuid
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord, PartitionRecord
from replay.image.cluster import Broker
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER, NONE, Partition
from replay.image.provenance import Provenance
from replay.incidents.causes import (
    BROKER_RECORDS,
    OWN,
    Cause,
    Causes,
    broker_of,
    fenced_text,
    is_up,
    own_cause,
)
from replay.incidents.fencing_reasons import (
    NO_HEARTBEAT,
    NO_HEARTBEAT_OR_STOPPED,
    FencingReasons,
)
from replay.incidents.fencings import had_lead
from replay.incidents.health import LEADERLESS, brokers_missing, is_under_replicated
from replay.incidents.replay_state import ReplayState
from replay.loader import BatchSource, Newest, load_image
from replay.time_travel.change_index import ChangeIndex
from replay.time_travel.contradictions import explains
from replay.time_travel.history import absence
from replay.time_travel.objects import ObjectName
from replay.time_travel.skim import reaching_rows


class Link(msgspec.Struct, frozen=True):
    """A record in a chain of causes, with a description of its effect."""

    row: Envelope
    text: str


class Chain(msgspec.Struct, frozen=True):
    """The records that explain the value of a field.

    Attributes:
        value: Value of the field.
        links: Latest record first; empty if all are older than the kept history.
        unclean: True if the last election chose a leader outside the ISR and the eligible replicas;
            None if no election is known.
        waits_for: The brokers that could lead the partition, if it has no leader.
        needs_unclean: True if none of those is known to have every record.
        is_going: True if it has no leader because it is being removed.
        had_only_leader: True if the last election had no replica to choose from but the new leader.
    """

    value: Any
    links: list[Link]
    unclean: bool | None = None
    waits_for: tuple[int, ...] = ()
    needs_unclean: bool = False
    is_going: bool = False
    had_only_leader: bool = False


@explains
def why_partition(
    source: BatchSource,
    name: ObjectName,
    at: int,
    progress: Callable[[int], None] | None = None,
    index: ChangeIndex | None = None,
    newest: Newest = lambda _: None,
) -> Chain:
    """Return the chain of records that led to a partition's leader or ISR at offset `at`.

    Args:
        name: A partition, with the field `leader` or `isr`.
        progress: Called with the end offset of each batch read.
        index: Used to find the records of partitions and brokers in the range it covers.
        newest: Returns the newest snapshot at or below an offset, if there is one.

    Raises:
        RequestError: there is no such partition at `at`; the code is one of `absence`.
        CorruptLogError: the log is damaged.
    """
    follower = _followed(source, name, at, progress, index)
    key = name.key(follower.image())
    if key is None:
        raise absence(source, name, at, index)
    found = follower.chain_of_partition(key, name.field or "leader")
    return _with_reasons(source, found, newest, is_partial=follower.is_partial)


@explains
def why_broker(
    source: BatchSource,
    name: ObjectName,
    at: int,
    progress: Callable[[int], None] | None = None,
    index: ChangeIndex | None = None,
    newest: Newest = lambda _: None,
) -> Chain:
    """Return the chain of records that explains why a broker was up or down at offset `at`.

    Args and errors are those of `why_partition`.
    """
    follower = _followed(source, name, at, progress, index)
    key = name.key(follower.image())
    if key is None:
        raise absence(source, name, at, index)
    broker = follower.state.broker(key)
    assert broker is not None, "it was found"
    value = (
        broker.in_controlled_shutdown if name.field == "in_controlled_shutdown" else broker.fenced
    )
    found = Chain(value, follower.broker_links.get(key, [])[::-1])
    return _with_reasons(source, found, newest, is_partial=follower.is_partial)


def _with_reasons(source: BatchSource, found: Chain, newest: Newest, *, is_partial: bool) -> Chain:
    """Return the chain with the reasons of fencings that depend on other records.

    Args:
        is_partial: True if the chain was found by replaying only some partitions: a broker that
            was fenced may have led others.
    """
    reasons = FencingReasons(source)

    def with_reason(link: Link) -> Link:
        row, text = link.row, link.text
        is_open = text.endswith(fenced_text(NO_HEARTBEAT_OR_STOPPED))
        if not is_open and not text.endswith(fenced_text(NO_HEARTBEAT)):
            return link
        broker_id = broker_of(row.payload)
        led = not is_open or (is_partial and had_lead(source, row, newest))
        brokers = partial(_brokers_at, source, row.offset - 1, newest)
        reason = reasons.of(row, broker_id, brokers, led=led)
        return Link(row, f"broker {broker_id} {fenced_text(reason)}")

    return msgspec.structs.replace(found, links=[with_reason(each) for each in found.links])


def _brokers_at(source: BatchSource, at: int, newest: Newest) -> Iterable[Broker]:
    return load_image(source, at, start=newest(at)).brokers()


def _followed(
    source: BatchSource,
    name: ObjectName,
    at: int,
    progress: Callable[[int], None] | None,
    index: ChangeIndex | None,
) -> "Follower":
    with_brokers = name.kind.name == "partition"
    before, rows, is_partial = reaching_rows(
        source, name, at + 1, progress, index, with_brokers=with_brokers
    )
    follower = Follower(before, is_partial=is_partial)
    follower.follow(rows)
    return follower


class Step(NamedTuple):
    """One record of a partition, and the broker records that caused the record."""

    row: Envelope
    before: Partition | None
    after: Partition
    causes: list[Link]
    # As of `Causes.of_brokers`.
    lost_by: Cause | None

    @property
    def loss(self) -> Cause | None:
        """The cause of a lost leader or replica; None if the cause is before the kept history."""
        if self.lost_by is not OWN:
            return self.lost_by
        return own_cause(self.row.offset, self.before, self.after)

    @property
    def sets_leader(self) -> bool:
        return self.before is None or self.before.leader != self.after.leader

    @property
    def sets_isr(self) -> bool:
        return self.before is None or set(self.before.isr) != set(self.after.isr)

    @property
    def link(self) -> Link:
        return Link(self.row, change_text(self.before, self.after))


class Follower:
    """Replays rows and collects the steps of each partition and broker.

    Attributes:
        state: The state after the last row.
        is_partial: True if only some of the partitions are followed.
        steps: Steps of each partition, by topic id and partition id.
        broker_links: For each broker, the records since it was last up; if it is up again, they end
            with the record that brought it up.
        added: The steps added by the last call of `follow`, by the offset of their records.
        added_links: The additions of the last call of `follow` to `broker_links`: broker id, link,
            and True if the link replaced the earlier links of that broker.
    """

    def __init__(
        self,
        image: MetadataImage,
        *,
        is_partial: bool = False,
        reasons: FencingReasons | None = None,
    ) -> None:
        self.state = ReplayState(MetadataDelta(image))
        self.is_partial = is_partial
        self._causes = Causes(self.state, reasons=reasons)
        self.steps: dict[tuple[Uuid, int], list[Step]] = {}
        self.broker_links: dict[int, list[Link]] = {}
        self.added: dict[int, Step] = {}
        self.added_links: list[tuple[int, Link, bool]] = []
        # Records about brokers of the current batch, by offset.
        self._batch: dict[int, Envelope] = {}

    def follow(self, rows: Iterable[Envelope]) -> None:
        """Apply rows that take effect."""
        self.added, self.added_links = {}, []
        for _, batch in groupby(rows, key=lambda row: row.batch_offset):
            together = list(batch)
            self._causes.enter(together)
            self._batch = {r.offset: r for r in together if type(r.payload) in BROKER_RECORDS}
            for row in together:
                self._apply(row)

    def image(self) -> MetadataImage:
        """Return the image after the last row."""
        return self.state.image(Provenance())

    def cause_of_broker(self, broker_id: int) -> Cause | None:
        """Return why a broker is down; None if it is up, or if the cause is before the history."""
        return self._causes.of_broker(broker_id)

    def _apply(self, row: Envelope) -> None:
        record = row.payload
        if isinstance(record, PartitionChangeRecord | PartitionRecord):
            key = record.topic_id, record.partition_id
            before, after = self.state.set_partition(row)
            lost_by = self._causes.of_brokers(row, before, after)
            causes = list(self._causes_of(row, before, after, lost_by))
            step = self.added[row.offset] = Step(row, before, after, causes, lost_by)
            self.steps.setdefault(key, []).append(step)
        elif type(record) in BROKER_RECORDS:
            was = self.state.broker(broker_of(record))
            self.state.replay(row)
            self._causes.broker_changed(row, was)
            self._broker_changed(row, was)
        else:
            self.state.replay(row)

    def _broker_changed(self, row: Envelope, was: Broker | None) -> None:
        broker_id = broker_of(row.payload)
        now = self.state.broker(broker_id)
        down = self._causes.down_by(row, was)
        changed = (was is None) != (now is None) or (
            was is not None
            and now is not None
            and (was.fenced, was.in_controlled_shutdown, was.broker_epoch)
            != (now.fenced, now.in_controlled_shutdown, now.broker_epoch)
        )
        if not changed:
            return
        if down is None:
            text = "was unfenced" if is_up(now) else "changed its registration"
        links = self.broker_links.setdefault(broker_id, [])
        starts_anew = is_up(was)
        if starts_anew:
            links.clear()
        links.append(Link(row, f"broker {broker_id} {text}" if down is None else down.text))
        self.added_links.append((broker_id, links[-1], starts_anew))

    def _causes_of(
        self, row: Envelope, before: Partition | None, after: Partition, cause: Cause | None
    ) -> Iterator[Link]:
        """Yield the broker records that caused a partition's record."""
        if cause is not None and cause.offset in self._batch:
            yield Link(self._batch[cause.offset], cause.text)
        elif cause is not None and cause is not OWN:
            links = (link for of in self.broker_links.values() for link in of)
            yield from (link for link in links if link.row.offset == cause.offset)
        if before is None or after.leader in (before.leader, NO_LEADER):
            return
        came = self.broker_links.get(after.leader, [])
        if before.leader == NO_LEADER and came and came[-1].row.offset in self._batch:
            yield from came

    def chain_of_partition(self, key: tuple[Uuid, int], field: str) -> Chain:
        """Return the chain of records that led to a partition's leader or ISR."""
        steps = self.steps.get(key, [])
        chosen = _leader_steps(steps) if field == "leader" else _isr_steps(steps)
        links = {link.row.offset: link for step in chosen for link in (step.link, *step.causes)}
        after = self.state.partition(*key)
        assert after is not None, "the partition was found"
        waits_for: tuple[int, ...] = ()
        is_going = after.leader == NO_LEADER and after.mode == NONE
        if after.leader == NO_LEADER and not is_going:
            waits_for = tuple(brokers_missing(LEADERLESS, after))
            for broker_id in waits_for:
                if not is_up(self.state.broker(broker_id)):
                    links |= {
                        each.row.offset: each for each in self.broker_links.get(broker_id, [])
                    }
        elections = [step for step in steps if step.sets_leader and step.after.leader != NO_LEADER]
        return Chain(
            after.leader if field == "leader" else list(after.isr),
            [links[offset] for offset in sorted(links, reverse=True)],
            is_unclean(elections[-1].before, elections[-1].after) if elections else None,
            waits_for,
            bool(waits_for) and not (after.isr or after.eligible_leader_replicas),
            is_going,
            bool(elections) and len(elections[-1].after.replicas) == 1,
        )


def _leader_steps(steps: list[Step]) -> list[Step]:
    """Return the last election, the loss of the lead before it, and earlier ISR changes."""
    found: list[Step] = []
    for index in range(len(steps) - 1, -1, -1):
        step = steps[index]
        if step.sets_leader:
            found.append(step)
            if step.before is None or step.before.leader != NO_LEADER:
                before = step.before
                is_whole = before is None or _is_whole(before)
                return found if is_whole else [*found, *_isr_steps(steps[:index])]
    return found


def _isr_steps(steps: list[Step]) -> list[Step]:
    """Return the changes of the ISR since it last contained all replicas, latest first."""
    found = []
    for step in reversed(steps):
        if step.sets_isr:
            found.append(step)
            if step.before is None or _is_whole(step.before):
                break
    return found


def _is_whole(partition: Partition) -> bool:
    return not is_under_replicated(partition)


def is_unclean(before: Partition | None, after: Partition) -> bool:
    """True if an election chose a leader that may lack records.

    Such a leader is neither in the ISR nor an eligible leader replica, or is in recovery.
    """
    if before is None or after.leader == NO_LEADER:
        return False
    leader = after.leader
    return (leader not in before.isr and leader not in before.eligible_leader_replicas) or (
        after.leader_recovery_state == 1 and before.leader_recovery_state == 0
    )


def change_text(before: Partition | None, after: Partition) -> str:
    """Describe the changes of a partition's leader, ISR, replicas and eligible replicas."""
    replicas = f"of replicas {list(after.replicas)}"
    if before is None:
        return f"created: leader {_leader(after)}, ISR {list(after.isr)} {replicas}"
    parts = []
    if before.leader != after.leader:
        how = ""
        if after.leader != NO_LEADER:
            how = " (unclean election)" if is_unclean(before, after) else " (clean election)"
        parts.append(f"leader {_leader(before)} -> {_leader(after)}{how}")
    pairs = (
        ("ISR", before.isr, after.isr),
        ("replicas", before.replicas, after.replicas),
        ("ELR", before.eligible_leader_replicas, after.eligible_leader_replicas),
        ("last known ELR", before.last_known_elr, after.last_known_elr),
    )
    parts += [f"{name} {list(old)} -> {list(new)}" for name, old, new in pairs if old != new]
    if before.isr == after.isr:
        parts.append(f"ISR {list(after.isr)} {replicas}")
    return ", ".join(parts)


def _leader(partition: Partition) -> str:
    return "none" if partition.leader == NO_LEADER else str(partition.leader)
