"""Following a quorum through elections, restarts, withdrawn records and kills."""

import json
import signal
from pathlib import Path

import pytest

from tests.api.conftest import Metalog
from tests.api.quorum.quorums import (
    batch_end,
    batches_in,
    ends,
    exported,
    following,
    read,
)
from tests.stand_in_quorum import FETCH, Answer, CloseAfter, Quorum
from tests.stand_in_quorum.quorum import CLUSTER_ID


@pytest.mark.parametrize("release", ["3.3", "3.9", "4.3"])
def test_follower_writes_what_is_appended_until_it_is_stopped(
    partition: Path, tmp_path: Path, release: str
) -> None:
    log = tmp_path / "log"
    first = batch_end(partition, 100)
    with (
        Quorum(partition, release=release, end_offset=first) as quorum,
        following(quorum, log, "--noop", "keep") as follower,
    ):
        follower.wait_until(first, first)
        second = quorum.reveal(batch_end(partition, 200))
        follower.wait_until(second, second)
        end = quorum.reveal()
        done = follower.end()
    assert (done.code, done.err) == (0, "")
    last = json.loads(done.out.splitlines()[-1])
    assert (last["log_end"], last["confirmed_end"]) == (ends(log)[0], ends(log)[1])
    assert batches_in(partition).startswith(exported(log, tmp_path / "exported"))
    assert second <= ends(log)[0] <= end


def test_tail_is_confirmed_when_the_high_watermark_moves(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    start = batch_end(partition, 100)
    with (
        Quorum(partition, end_offset=start) as quorum,
        following(quorum, log) as follower,
    ):
        follower.wait_until(start, start)
        end = quorum.reveal(batch_end(partition, 200), commit=False)
        follower.wait_until(end, start)
        quorum.commit(end)
        follower.wait_until(end, end)


def test_withdrawn_records_are_cut_off_after_an_election(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    start, kept = batch_end(partition, 100), batch_end(partition, 150)
    with (
        Quorum(partition, nodes=3, end_offset=start) as quorum,
        following(quorum, log, "--noop", "keep") as follower,
    ):
        follower.wait_until(start, start)
        lost = quorum.reveal(batch_end(partition, 200), commit=False)
        follower.wait_until(lost, start)
        quorum.elect(2, end_offset=kept)
        follower.wait_until(kept)
        quorum.commit(kept)
        follower.wait_until(kept, kept)
        done = follower.end()
    lines = [json.loads(line) for line in done.out.splitlines()]
    (replaced,) = [each for line in lines for each in line["replaced"]]
    assert (replaced["first_offset"], replaced["last_offset"]) == (kept, lost - 1)


def test_denied_committed_records_freeze_the_mirror(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Quorum(partition, nodes=3) as quorum:
        assert read(quorum, log).code == 0
        before = ends(log)
        start = batch_end(partition, 300)
        quorum.elect(2, end_offset=start, high_watermark=start)
        done = read(quorum, log, "--json")
        again = read(quorum, log, "--json")
        asked = len(quorum.asked(FETCH))
        assert read(quorum, log).code == 6
        assert len(quorum.asked(FETCH)) == asked
    assert (done.code, done.error()["code"]) == (6, "COMMITTED_HISTORY_CHANGED")
    assert f"ends at offset {start}" in done.error()["message"]
    assert (again.code, again.error()["message"]) == (6, done.error()["message"])
    assert ends(log) == before


def test_follower_outlives_every_node_and_an_upgrade(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    start = batch_end(partition, 100)
    with (
        Quorum(partition, release="3.9", nodes=3, end_offset=start) as quorum,
        following(quorum, log) as follower,
    ):
        follower.wait_until(start, start)
        for node_id in (1, 2, 3):
            quorum.stop(node_id)
        for node_id in (1, 2, 3):
            quorum.start(node_id)
        quorum.upgrade("4.1")
        quorum.elect(-1)
        quorum.elect(3)
        end = quorum.reveal()
        follower.wait_until(end, end)


def test_answers_that_break_off_lose_nothing(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Quorum(partition) as quorum:
        for after, size in enumerate((0, 3, 4, 8, 50, 500)):
            quorum.fail(CloseAfter(size), key=FETCH, after=after)
        assert read(quorum, log, "--noop", "keep").code == 0
    assert exported(log, tmp_path / "exported") == batches_in(partition)


def test_node_that_lags_is_not_believed(partition: Path, tmp_path: Path) -> None:
    with Quorum(partition, nodes=3) as quorum:
        quorum.elect(3, unaware=(1, 2))
        quorum.commit(quorum.leader.log.end_offset)
        done = read(quorum, tmp_path / "log", url=f"kafka://{quorum.address(3)}")
        quorum.fail(Answer(error=74, leader_id=1, leader_epoch=1), key=FETCH, node_id=3, times=2)
        again = read(quorum, tmp_path / "log", url=f"kafka://{quorum.address(3)}")
    assert (done.code, again.code) == (0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_killed_follower_loses_nothing(partition: Path, tmp_path: Path, seed: int) -> None:
    log = tmp_path / "log"
    start = batch_end(partition, 20 * (seed + 1))
    with Quorum(partition, nodes=3, end_offset=start) as quorum:
        for step in range(1, 4):
            with following(quorum, log, "--noop", "keep") as follower:
                # Killed before, while and after it writes.
                quorum.wait_for(lambda: len(quorum.asked(FETCH)) > 3 * seed)
                quorum.reveal(batch_end(partition, start + 60 * step), commit=step % 2 == 0)
                follower.end(signal.SIGKILL)
        quorum.reveal()
        assert read(quorum, log, "--noop", "keep").code == 0
        end = quorum.leader.high_watermark
    assert ends(log) == (end, end)
    assert exported(log, tmp_path / "exported") == batches_in(partition)


def test_second_reader_of_a_mirror_is_refused(
    metalog: Metalog, partition: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    (partition.parent / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER_ID}\n")
    with Quorum(partition) as quorum, following(quorum, log) as follower:
        follower.wait_until(quorum.leader.high_watermark)
        over_network = read(quorum, log)
        from_files = metalog("import", "kraft", partition, log, "--follow")
    holder = f"{log} is being written by process {follower.process.pid}"
    assert (over_network.code, holder in over_network.err) == (4, True)
    assert (from_files.code, holder in from_files.err) == (4, True)
