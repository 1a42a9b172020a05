"""`metalog import kafka://...` reads a quorum's log once."""

import json
from pathlib import Path

import pytest

from benchmarks.generate_kraft import generate
from tests.api.quorum.quorums import batch_end, batches_in, ends, exported, read
from tests.stand_in_quorum import FETCH, RELEASES, Answer, CutRecords, FlipByte, Quorum

_READ = [release for release in RELEASES if release != "3.0"]


@pytest.mark.parametrize("release", _READ)
def test_mirror_of_each_release_has_the_leaders_bytes(
    partition: Path, tmp_path: Path, release: str
) -> None:
    log = tmp_path / "log"
    with Quorum(partition, release=release) as quorum:
        done = read(quorum, log, "--noop", "keep", "--json")
        end = quorum.leader.high_watermark
    assert (done.code, done.err) == (0, "")
    answer = json.loads(done.out)
    assert (answer["last_offset"], answer["committed_end_offset"]) == (end - 1, end)
    assert exported(log, tmp_path / "exported") == batches_in(partition)
    assert ends(log) == (end, end)


@pytest.mark.parametrize("release", ["3.3", "4.0"])
def test_leader_is_found_from_any_address(partition: Path, tmp_path: Path, release: str) -> None:
    with Quorum(partition, release=release, nodes=3) as quorum:
        quorum.elect(3)
        quorum.commit(quorum.leader.log.end_offset)
        done = read(quorum, tmp_path / "log")
        nodes = {seen.node_id for seen in quorum.asked(FETCH)}
    assert done.code == 0
    assert 3 in nodes
    assert f"offsets 0 to {quorum.leader.high_watermark - 1}" in done.out


def test_leader_outside_the_given_addresses_is_asked_where_the_quorum_says(
    partition: Path, tmp_path: Path
) -> None:
    with Quorum(partition, nodes=3) as quorum:
        done = read(quorum, tmp_path / "log", url=f"kafka://{quorum.address(2)}")
    assert done.code == 0


def test_leader_without_an_address_is_asked_where_the_map_says(
    partition: Path, tmp_path: Path
) -> None:
    with Quorum(partition, release="3.3", nodes=3) as quorum:
        url = f"kafka://{quorum.address(2)}"
        mapped = f"1={quorum.address(1)}"
        done = read(quorum, tmp_path / "log", "--map", mapped, url=url)
    assert done.code == 0


def test_tail_above_the_high_watermark_is_not_confirmed(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Quorum(partition, high_watermark=100) as quorum:
        done = read(quorum, log)
        end = quorum.leader.log.end_offset
    assert done.code == 0
    assert "committed below 100, the quorum's high watermark" in done.out
    assert ends(log) == (end, 100)


def test_second_import_reads_on_where_the_mirror_ends(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Quorum(partition, end_offset=batch_end(partition, 200)) as quorum:
        start = quorum.leader.high_watermark
        assert read(quorum, log, "--noop", "keep").code == 0
        quorum.reveal()
        before = len(quorum.asked(FETCH))
        assert read(quorum, log, "--noop", "keep").code == 0
        offsets = [
            seen.request.topics[0].partitions[0].fetch_offset
            for seen in quorum.asked(FETCH)[before:]
        ]
    # The mirror's last record is compared with the leader's.
    assert min(offsets) == start - 1
    assert exported(log, tmp_path / "exported") == batches_in(partition)


def test_cut_last_batch_is_read_whole_by_the_next_request(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Quorum(partition) as quorum:
        quorum.fail(CutRecords(5), key=FETCH, after=1)
        assert read(quorum, log, "--noop", "keep").code == 0
    assert exported(log, tmp_path / "exported") == batches_in(partition)


def test_damaged_answer_is_asked_for_again(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Quorum(partition) as quorum:
        quorum.fail(FlipByte(), key=FETCH, after=1, times=2)
        assert read(quorum, log, "--noop", "keep").code == 0
    assert exported(log, tmp_path / "exported") == batches_in(partition)


@pytest.mark.parametrize("field", [8, 12, 27, 57], ids=["length", "epoch", "time", "count"])
def test_damaged_answer_is_not_taken_for_another_log(
    partition: Path, tmp_path: Path, field: int
) -> None:
    """A reader that goes on compares the mirror's last batch with the leader's."""
    log = tmp_path / "log"
    with Quorum(partition) as quorum:
        assert read(quorum, log, "--noop", "keep").code == 0
        last = quorum.leader.log.batches[-1].data
        quorum.fail(FlipByte(field + 3 - len(last)), key=FETCH)
        done = read(quorum, log, "--noop", "keep")
    assert (done.code, done.err) == (0, "")
    assert exported(log, tmp_path / "exported") == batches_in(partition)


def test_leader_that_always_sends_damage_is_reported(partition: Path, tmp_path: Path) -> None:
    with Quorum(partition) as quorum:
        quorum.fail(FlipByte(), key=FETCH, times=1_000)
        done = read(quorum, tmp_path / "log")
    assert done.code == 5
    assert f"{quorum.bootstrap} sent damaged batches" in done.err


def test_cluster_id_is_asked_of_a_broker(partition: Path, tmp_path: Path) -> None:
    with Quorum(partition) as quorum:
        done = read(quorum, tmp_path / "log", "--brokers", quorum.broker)
    assert done.code == 0
    assert quorum.cluster_id in (tmp_path / "log" / "metalog.json").read_text()


def test_another_cluster_is_refused_and_leaves_nothing(partition: Path, tmp_path: Path) -> None:
    with Quorum(partition) as quorum:
        done = read(quorum, tmp_path / "log", "--cluster-id", "another", "--json")
    assert (done.code, done.error()["code"]) == (3, "INCONSISTENT_CLUSTER_ID")
    assert quorum.bootstrap in done.error()["message"]
    assert not (tmp_path / "log").exists()


def test_mirror_of_another_cluster_is_refused(partition: Path, tmp_path: Path) -> None:
    with Quorum(partition, cluster_id="first") as quorum:
        assert read(quorum, tmp_path / "log").code == 0
    with Quorum(partition, cluster_id="second") as quorum:
        done = read(quorum, tmp_path / "log", "--cluster-id", "second")
    assert done.code == 3
    assert "mirrors cluster 'first'" in done.err


def test_cluster_that_was_set_up_again_with_the_same_id_is_refused(
    partition: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with Quorum(partition) as quorum:
        assert read(quorum, log).code == 0
    before = ends(log)
    again = generate(tmp_path / "again", 500, seed=4)
    with Quorum(again) as quorum:
        done = read(quorum, log, "--json")
    assert (done.code, done.error()["code"]) == (3, "INCONSISTENT_CLUSTER_ID")
    assert "was set up anew with the same id" in done.error()["message"]
    assert ends(log) == before


def test_cluster_must_be_named(partition: Path, tmp_path: Path) -> None:
    with Quorum(partition) as quorum:
        done = read(quorum, tmp_path / "log", "--cluster-id", "")
        assert not quorum.seen
    assert (done.code, done.out) == (2, "")
    assert "--brokers HOST:PORT" in done.err


def test_missing_right_is_named(partition: Path, tmp_path: Path) -> None:
    with Quorum(partition) as quorum:
        quorum.fail(Answer(top_error=31), key=FETCH)
        done = read(quorum, tmp_path / "log")
    assert done.code == 3
    assert "CLUSTER_AUTHORIZATION_FAILED" in done.err
    assert "CLUSTER_ACTION" in done.err


def test_release_before_3_1_is_refused_by_name(partition: Path, tmp_path: Path) -> None:
    with Quorum(partition, release="3.0") as quorum:
        done = read(quorum, tmp_path / "log")
    assert done.code == 3
    assert "as Kafka 3.0 does" in done.err


def test_broker_is_told_from_a_controller(partition: Path, tmp_path: Path) -> None:
    with Quorum(partition) as quorum:
        done = read(quorum, tmp_path / "log", url=f"kafka://{quorum.broker}")
    assert done.code == 3
    assert "it is a broker's listener" in done.err
