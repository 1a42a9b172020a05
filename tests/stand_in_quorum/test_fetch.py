"""Fetch of the stand-in, asked by kafka-python's messages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stand_in_quorum import RELEASES, Quorum, SnapshotId, rules
from tests.stand_in_quorum.batches import leader_change, no_ops
from tests.stand_in_quorum.peer import ask, diverging, fetch, partition, snapshot_of

SNAPSHOT = SnapshotId(6, 1)


@pytest.fixture
def quorum(directory: Path) -> Iterator[Quorum]:
    with Quorum(directory, release="4.0", nodes=3, allows_anything=True) as quorum:
        yield quorum


def leader_of(quorum: Quorum) -> str:
    return quorum.address(quorum.leader.node_id)


@pytest.mark.parametrize(
    ("release", "version"),
    [(name, version) for name, r in RELEASES.items() for version in range(12, r.fetch[1] + 1)],
)
def test_whole_log_is_served_in_every_version(directory: Path, release: str, version: int) -> None:
    with Quorum(directory, release=release) as quorum:
        answer = ask(quorum.bootstrap, fetch(version, epoch=3))
    if version == 12 and release != "3.0":
        # The topic's id is compared, and a request by name has none.
        assert (answer.error_code, answer.responses) == (rules.INVALID_REQUEST, [])
        return
    found = partition(answer)
    assert bytes(found.records) == (directory / f"{0:020d}.log").read_bytes()
    assert (found.high_watermark, found.log_start_offset) == (12, 0)
    assert (found.current_leader.leader_id, found.current_leader.leader_epoch) == (1, 3)


@pytest.mark.parametrize("version", range(13, 18))
def test_probe_finds_the_leader(directory: Path, version: int) -> None:
    with Quorum(directory, release="3.9", nodes=3) as quorum:
        quorum.elect(3)
        for node_id in quorum.nodes:
            answer = ask(quorum.address(node_id), fetch(version))
            found = partition(answer)
            assert answer.error_code == 0
            assert found.error_code == rules.FENCED_LEADER_EPOCH
            assert (found.current_leader.leader_id, found.current_leader.leader_epoch) == (3, 4)
            assert (found.high_watermark, bytes(found.records)) == (-1, b"")
            named = [(e.node_id, f"{e.host}:{e.port}") for e in answer.node_endpoints or []]
            assert named == ([(3, quorum.address(3))] if version >= 17 else [])


def test_endpoints_are_not_named_before_3_9(directory: Path) -> None:
    with Quorum(directory, release="3.8") as quorum:
        assert not ask(quorum.bootstrap, fetch(16)).node_endpoints


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"epoch": 2}, rules.FENCED_LEADER_EPOCH),
        ({"epoch": 4}, rules.UNKNOWN_LEADER_EPOCH),
        ({"epoch": 3, "offset": -1}, rules.INVALID_REQUEST),
        ({"epoch": 3, "last_epoch": 4}, rules.INVALID_REQUEST),
        ({"epoch": 3, "last_epoch": -1}, rules.INVALID_REQUEST),
        ({"epoch": 3, "max_wait_ms": -1}, rules.INVALID_REQUEST),
        ({"epoch": -1, "last_epoch": 0}, rules.INVALID_REQUEST),
        ({"epoch": 2, "last_epoch": 4}, rules.INVALID_REQUEST),
        ({"epoch": 3, "replica_id": 1}, rules.UNKNOWN_SERVER_ERROR),
    ],
)
def test_checks_of_the_leader(quorum: Quorum, asked: dict[str, int], error: int) -> None:
    answer = ask(leader_of(quorum), fetch(17, **asked))  # type: ignore[arg-type]
    assert answer.error_code == 0
    assert partition(answer).error_code == error
    assert partition(answer).current_leader.leader_epoch == 3


def test_follower_in_the_same_epoch_is_not_the_leader(quorum: Quorum) -> None:
    found = partition(ask(quorum.address(2), fetch(17, epoch=3)))
    assert found.error_code == rules.NOT_LEADER_OR_FOLLOWER
    assert found.current_leader.leader_id == 1


def test_leader_that_shuts_down_is_not_available(quorum: Quorum) -> None:
    with quorum.change():
        quorum.leader.is_shutting_down = True
    found = partition(ask(leader_of(quorum), fetch(17, epoch=3)))
    assert found.error_code == rules.BROKER_NOT_AVAILABLE


def test_other_cluster_is_said_before_all_else(quorum: Quorum) -> None:
    answer = ask(leader_of(quorum), fetch(17, epoch=-5, partition=1, cluster_id="other"))
    assert (answer.error_code, answer.responses) == (rules.INCONSISTENT_CLUSTER_ID, [])
    right = ask(leader_of(quorum), fetch(17, epoch=3, cluster_id=quorum.cluster_id))
    assert right.error_code == 0


def test_another_partition_is_an_invalid_request(quorum: Quorum) -> None:
    answer = ask(leader_of(quorum), fetch(17, epoch=3, partition=1))
    assert (answer.error_code, answer.responses) == (rules.INVALID_REQUEST, [])


@pytest.mark.parametrize(
    ("offset", "last_epoch", "expected"),
    [
        (4, 1, None),
        (6, 1, None),
        (7, 3, None),
        (12, 3, None),
        (13, 3, (3, 12)),
        (7, 1, (1, 6)),
        (6, 2, (1, 6)),
        (3, 0, (0, 0)),
    ],
)
def test_epoch_that_ends_before_the_offset_diverges(
    quorum: Quorum, offset: int, last_epoch: int, expected: tuple[int, int] | None
) -> None:
    answer = ask(leader_of(quorum), fetch(17, epoch=3, offset=offset, last_epoch=last_epoch))
    assert partition(answer).error_code == 0
    assert diverging(answer) == expected
    assert bool(partition(answer).records) is (expected is None and offset < 12)


def test_offset_inside_a_batch_is_answered_from_its_base(quorum: Quorum, directory: Path) -> None:
    data = (directory / f"{0:020d}.log").read_bytes()
    at_base = data.index(no_ops(4, 1, 2).data)
    found = partition(ask(leader_of(quorum), fetch(17, epoch=3, offset=5, last_epoch=1)))
    assert bytes(found.records) == data[at_base:]


@pytest.mark.parametrize(
    ("release", "offset", "last_epoch", "is_snapshot"),
    [
        ("3.5", 0, 0, False),
        ("3.6", 0, 0, True),
        ("4.0", 0, 0, True),
        ("4.0", 3, 0, True),
        ("4.0", 3, 1, False),
        ("4.0", 3, 3, False),
        ("4.0", 6, 1, False),
    ],
)
def test_snapshot_instead_of_the_log(
    with_snapshot: Path, release: str, offset: int, last_epoch: int, is_snapshot: bool
) -> None:
    with Quorum(with_snapshot, release=release) as quorum:
        asked = fetch(13, epoch=3, offset=offset, last_epoch=last_epoch)
        answer = ask(quorum.bootstrap, asked)
    assert snapshot_of(answer) == (SNAPSHOT if is_snapshot else None)
    assert bool(partition(answer).records) is not is_snapshot


@pytest.mark.parametrize(("offset", "last_epoch"), [(0, 0), (5, 3), (6, 3), (7, 0)])
def test_reader_before_a_cleaned_log_is_sent_to_the_snapshot(
    with_snapshot: Path, offset: int, last_epoch: int
) -> None:
    with Quorum(with_snapshot, release="3.5") as quorum:
        quorum.clean(SNAPSHOT)
        asked = fetch(15, epoch=3, offset=offset, last_epoch=last_epoch)
        answer = ask(quorum.bootstrap, asked)
        assert snapshot_of(answer) == SNAPSHOT
        assert partition(answer).log_start_offset == 6
        goes_on = partition(ask(quorum.bootstrap, fetch(15, epoch=3, offset=6, last_epoch=1)))
        assert bytes(goes_on.records)


def test_bootstrap_snapshot_is_not_served_from_3_9(directory: Path) -> None:
    (directory / "00000000000000000000-0000000000.checkpoint").write_bytes(b"formatted")
    for release, is_served in (("3.8", True), ("3.9", False)):
        with Quorum(directory, release=release) as quorum:
            answer = ask(quorum.bootstrap, fetch(13, epoch=3))
            assert snapshot_of(answer) == (SnapshotId(0, 0) if is_served else None)


def test_max_bytes_is_honoured_from_4_3(directory: Path) -> None:
    size = len(leader_change(0, 1, 1).data)
    for release, expected in (("4.2", 12), ("4.3", 1)):
        with Quorum(directory, release=release) as quorum:
            found = partition(ask(quorum.bootstrap, fetch(18, epoch=3, max_bytes=1)))
            assert (len(found.records) == size) is (expected == 1)


def test_last_batch_is_cut_where_the_limit_falls(directory: Path) -> None:
    with Quorum(directory, release="4.3") as quorum:
        found = partition(ask(quorum.bootstrap, fetch(18, epoch=3, max_bytes=150)))
        assert bytes(found.records) == (directory / f"{0:020d}.log").read_bytes()[:150]
