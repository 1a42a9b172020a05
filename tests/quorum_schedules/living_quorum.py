"""A stand-in quorum that lives: what happens to it, and what it has committed so far.

It keeps Raft's promises, whatever happens: only a node with all that was committed is elected, and
a leader commits nothing before it has a batch of its own epoch. So what was committed stays, and a
reader must have exactly that. The records are NoOps; each batch has a time of its own, so that no
two are equal.
"""

import random
import threading
from pathlib import Path

from tests.quorum_schedules.operations import RELEASES, Operation, fault, slow_answer
from tests.stand_in_quorum import Batch, Log, Quorum, SnapshotId
from tests.stand_in_quorum.batches import NO_OP, batch, leader_change, snapshot

NODES = 3


class LivingQuorum:
    """Attributes: `quorum` is the stand-in, `committed` its batches below the high watermark."""

    def __init__(self, seed: int, folder: Path) -> None:
        partition = folder / "__cluster_metadata-0"
        partition.mkdir()
        first = leader_change(0, 1, 1)
        (partition / f"{0:020d}.log").write_bytes(first.data)
        self.quorum = Quorum(partition, release=RELEASES[seed % len(RELEASES)], nodes=NODES)
        self.committed = [first]
        self._times = 10**12
        # An operation may happen while an answer is under way, in the thread that sends it.
        self._lock = threading.RLock()
        self._stopped: set[int] = set()

    @property
    def committed_end(self) -> int:
        return self.committed[-1].end_offset

    @property
    def log(self) -> list[Batch]:
        """All batches that ever were in the latest leader's log."""
        tail = self.quorum.leader.log.batches
        return self.committed + [b for b in tail if b.base_offset >= self.committed_end]

    def apply(self, operation: Operation) -> None:
        """Let an operation happen; one that the quorum's state does not allow is left out."""
        with self._lock:
            self._apply(operation)

    def _apply(self, operation: Operation) -> None:
        random_ = random.Random(operation.number)
        latest = max(node.epoch for node in self.quorum.nodes.values())
        has_leader = any(n.is_leader and n.epoch == latest for n in self.quorum.nodes.values())
        match operation.kind:
            case "elect":
                self._elect(random_)
            case "no_leader":
                self.quorum.elect(-1)
            case "stop" if len(self._stopped) < NODES - 1:
                self._stopped.add(random_.randrange(1, NODES + 1))
                for node_id in self._stopped:
                    self.quorum.stop(node_id)
            case "start":
                self._start()
            case "upgrade":
                self.quorum.upgrade(random_.choice(RELEASES))
            case "fault":
                failing, key = fault(random_)
                after, times = random_.randrange(3), random_.randrange(1, 3)
                self.quorum.fail(failing, key=key, after=after, times=times)
            case "slow_answer":
                delay, key = slow_answer(random_, self.apply)
                after, times = random_.randrange(3), random_.randrange(1, 3)
                self.quorum.fail(delay, key=key, after=after, times=times)
            case kind if has_leader:
                self._led(kind, random_)

    def _led(self, kind: str, random_: random.Random) -> None:
        match kind:
            case "append":
                self._append(random_.randrange(1, 5), commit=True)
            case "append_tail":
                self._append(random_.randrange(1, 5), commit=False)
            case "commit":
                self._commit(random_)
            case "snapshot":
                self._snapshot(random_)
            case "clean":
                self._clean()

    def recover(self) -> None:
        """End all failures: every node hears of a new leader, which commits all that it has."""
        self.quorum.clear_faults()
        self.quorum.wait_for(lambda: self.quorum.is_idle, seconds=10)  # for what is under way
        self._start()
        latest = max(node.epoch for node in self.quorum.nodes.values())
        while not any(n.is_leader and n.epoch > latest for n in self.quorum.nodes.values()):
            self._elect(random.Random(self._times), is_heard_by_all=True)
            self._times += 1
        self._append(1, commit=True)

    def _start(self) -> None:
        for node_id in self._stopped:
            self.quorum.start(node_id)
        self._stopped.clear()

    def _append(self, count: int, *, commit: bool) -> None:
        leader, batches = self.quorum.leader, []
        offset = leader.log.end_offset
        for _ in range(count):
            self._times += 1
            records = [(None, NO_OP)] * (1 + self._times % 3)
            batches.append(batch(offset, leader.epoch, records, time_ms=self._times))
            offset = batches[-1].end_offset
        self._take(batches, commit=commit)

    def _take(self, batches: list[Batch], *, commit: bool) -> None:
        self.quorum.append(batches, commit=commit)
        if commit:
            self._is_committed()

    def _is_committed(self) -> None:
        self.committed = [b for b in self.log if b.end_offset <= self.quorum.leader.high_watermark]

    def _commit(self, random_: random.Random) -> None:
        leader = self.quorum.leader
        own = [b.end_offset for b in leader.log.batches if b.epoch == leader.epoch]
        ends = [end for end in own if end >= max(self.committed_end, leader.high_watermark)]
        if ends:
            self.quorum.commit(random_.choice(ends))
            self._is_committed()

    def _elect(self, random_: random.Random, *, is_heard_by_all: bool = False) -> None:
        """Elect a node with all that was committed; it keeps some of the rest, none or all."""
        quorum, leader_id = self.quorum, random_.randrange(1, NODES + 1)
        log = quorum.nodes[leader_id].log
        if not self._has_committed(log):
            return
        ends = [b.end_offset for b in log.batches if b.end_offset >= self.committed_end]
        others = [node_id for node_id in quorum.nodes if node_id != leader_id]
        heard = [each for each in others if is_heard_by_all or random_.random() < 0.8]
        with quorum.change():
            quorum.elect(leader_id, unaware=tuple(set(others) - set(heard)))
            log.cut(random_.choice(ends))
            for node_id in heard:
                quorum.nodes[node_id].log = log.copy()
        opening = leader_change(log.end_offset, quorum.leader.epoch, leader_id)
        self._take([opening], commit=random_.random() < 0.5)

    def _has_committed(self, log: Log) -> bool:
        known = [b for b in log.batches if b.end_offset <= self.committed_end]
        return bool(known) and known == self.committed[-len(known) :]

    def _snapshot(self, random_: random.Random) -> None:
        leader = self.quorum.leader
        place = random_.choice(self.committed)
        if place.end_offset <= leader.log.start_offset:
            return
        made = SnapshotId(place.end_offset, place.epoch)
        with self.quorum.change():
            for node in self.quorum.nodes.values():
                if node.epoch == leader.epoch:
                    node.log.snapshots[made] = snapshot(made.epoch)

    def _clean(self) -> None:
        leader = self.quorum.leader
        if not leader.log.snapshots:
            return
        with self.quorum.change():
            for node in self.quorum.nodes.values():
                if node.epoch == leader.epoch:
                    node.log.clean(max(node.log.snapshots))
