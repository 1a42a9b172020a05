"""Real logs are served as they are stored: in pieces, behind snapshots, with an election amid."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_logs import REAL_LOGS
from tests.stand_in_quorum import Quorum, relabelled, split
from tests.stand_in_quorum.batches import leader_change
from tests.stand_in_quorum.log import Batch
from tests.stand_in_quorum.peer import ask, diverging, fetch, partition, snapshot_of

pytestmark = pytest.mark.real_logs

PARTITIONS = sorted({path.parent for path in REAL_LOGS.glob("*/*/__cluster_metadata-0/*.log")})
ABSENT = pytest.param(None, marks=pytest.mark.skip(reason=f"no real Kafka logs at {REAL_LOGS}"))


def each_log(paths: list[Path]) -> pytest.MarkDecorator:
    values = [pytest.param(path, id="/".join(path.parts[-3:-1])) for path in paths]
    return pytest.mark.parametrize("path", values or [ABSENT])


def read(quorum: Quorum, offset: int, epoch: int, *, max_bytes: int = 2**31 - 1) -> Iterator[Batch]:
    """Yield the batches from `offset` to the end, as many fetches as that takes."""
    while True:
        leader = quorum.leader
        answer = ask(
            quorum.address(leader.node_id),
            fetch(18, epoch=leader.epoch, offset=offset, last_epoch=epoch, max_bytes=max_bytes),
        )
        assert (diverging(answer), snapshot_of(answer)) == (None, None)
        records = bytes(partition(answer).records)
        if not records:
            return
        for batch in split(records):
            assert batch.base_offset == offset
            yield batch
            offset, epoch = batch.end_offset, batch.epoch


@each_log(PARTITIONS)
def test_log_arrives_as_it_is_stored(path: Path) -> None:
    stored = b"".join(each.read_bytes() for each in sorted(path.glob("*.log")))
    with Quorum(path, release="4.3") as quorum:
        with quorum.change():  # a log with snapshots is served from 0 only without them
            quorum.leader.log.snapshots.clear()
        for max_bytes in (100_000, 2**31 - 1):
            read_back = b"".join(b.data for b in read(quorum, 0, 0, max_bytes=max_bytes))
            # What a crash left half written at the end of a log is not served.
            assert stored.startswith(read_back)
            assert list(split(stored[len(read_back) :])) == []


@each_log([path for path in PARTITIONS if list(path.glob("*.checkpoint"))])
def test_behind_a_snapshot_the_log_goes_on(path: Path) -> None:
    with Quorum(path, release="4.1") as quorum:
        latest = snapshot_of(ask(quorum.bootstrap, fetch(18, epoch=quorum.leader.epoch)))
        assert latest == max(quorum.source.snapshots)
        # Of a log whose last snapshot is at its end, nothing goes on.
        rest = list(read(quorum, latest.end_offset, latest.epoch))
        assert sum(len(b.data) for b in rest) == sum(
            len(b.data) for b in quorum.source.batches if b.base_offset >= latest.end_offset
        )


@each_log([path for path in PARTITIONS if list(path.glob("*.checkpoint"))])
def test_records_before_the_snapshot_are_found_with_the_epoch_of_the_leader(path: Path) -> None:
    with Quorum(path, release="4.1") as quorum:
        log = quorum.leader.log
        second = log.batches[1].base_offset
        found = list(read(quorum, second, quorum.leader.epoch))
        assert found == log.batches[1:]


@each_log(PARTITIONS)
def test_election_in_the_middle(path: Path) -> None:
    with Quorum(path, release="4.1", nodes=3) as quorum:
        with quorum.change():
            quorum.leader.log.snapshots.clear()
            quorum.nodes[2].log.snapshots.clear()
        whole = quorum.leader.log.batches
        if len(whole) < 4:
            return
        lost = whole[len(whole) // 2]
        before = list(read(quorum, 0, 0))
        assert before == whole
        quorum.elect(2, end_offset=lost.base_offset)
        epoch = quorum.leader.epoch
        first = leader_change(lost.base_offset, epoch, 2)
        quorum.append([first, *_after(first, whole[len(whole) // 2 :], epoch)])
        answer = ask(
            quorum.address(2),
            fetch(18, epoch=epoch, offset=whole[-1].end_offset, last_epoch=whole[-1].epoch),
        )
        cut = diverging(answer)
        assert cut is not None
        kept = [each for each in whole if each.base_offset < lost.base_offset]
        assert cut == (kept[-1].epoch, lost.base_offset)
        after = list(read(quorum, lost.base_offset, kept[-1].epoch))
        assert kept + after == quorum.leader.log.batches
        assert after[0] == first
        assert [b.data[16:] for b in after[1:]] == [b.data[16:] for b in whole[len(kept) :]]


def _after(first: Batch, batches: list[Batch], epoch: int) -> Iterator[Batch]:
    """Yield the batches again behind `first`, written in another epoch."""
    offset = first.end_offset
    for each in batches:
        moved = relabelled(each, offset, epoch)
        offset = moved.end_offset
        yield moved


@each_log(PARTITIONS)
def test_first_batch_of_an_epoch_is_written_as_a_real_leader_did(path: Path) -> None:
    """Our own leader change equals the stored one, for the leader and voters that it names."""
    found = 0
    with Quorum(path) as quorum:
        for batch in quorum.source.batches:
            if int.from_bytes(batch.data[21:23], "big") & 0x20 == 0:
                continue
            leader, voters, granting = _read_leader_change(batch.data)
            time_ms = int.from_bytes(batch.data[27:35], "big")
            ours = leader_change(
                batch.base_offset,
                batch.epoch,
                leader,
                voters,
                granting=granting,
                time_ms=time_ms,
            )
            assert ours.data == batch.data
            found += 1
    assert found


def _read_leader_change(data: bytes) -> tuple[int, list[int], list[int]]:
    """Return leader, voters and granting voters of a batch with one such record (few voters)."""
    at = data.index(b"\0\0\0\2", 61) + 4 + 1 + 2  # key, length of the value, version

    def number() -> int:
        nonlocal at
        at += 4
        return int.from_bytes(data[at - 4 : at], "big", signed=True)

    def ids() -> list[int]:
        nonlocal at
        count = data[at] - 1
        at += 1
        found = []
        for _ in range(count):
            found.append(number())
            at += 1
        return found

    return number(), ids(), ids()
