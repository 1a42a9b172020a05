"""The failures that a test can order are what a client sees."""

import socket
import struct
import time
from pathlib import Path

import pytest

from tests.stand_in_quorum import (
    API_VERSIONS,
    FETCH,
    Answer,
    CloseAfter,
    CutRecords,
    Fault,
    FlipByte,
    Late,
    Meanwhile,
    Overtaken,
    Quorum,
    Silent,
    Slow,
    WrongCorrelation,
    WrongLength,
)
from tests.stand_in_quorum.batches import leader_change
from tests.stand_in_quorum.peer import ApiVersionsRequest, ask, exchange, fetch, partition

REQUEST = fetch(17, epoch=3)
REQUEST.with_header(7, "peer")
FRAME = bytes(REQUEST.encode(header=True, framed=True))


def raw(address: str, frame: bytes, size: int = 2**20) -> bytes:
    """Send a frame and return all that comes until the connection is closed."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(frame)
        data = b""
        while len(data) < size and (more := connection.recv(size)):
            data += more
        return data


def _received(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := connection.recv(size - len(data))):
        data += more
    return data


@pytest.mark.parametrize("size", [0, 1, 3, 4, 7, 8, 9, 100])
def test_connection_is_closed_after_so_many_bytes(directory: Path, size: int) -> None:
    with Quorum(directory) as quorum:
        whole = exchange(quorum.bootstrap, FRAME)
        quorum.fail(CloseAfter(size))
        assert raw(quorum.bootstrap, FRAME) == whole[:size]
        assert exchange(quorum.bootstrap, FRAME) == whole


def test_slow_answers_arrive_whole(directory: Path) -> None:
    with Quorum(directory) as quorum:
        whole = exchange(quorum.bootstrap, FRAME)
        quorum.fail(Slow(0.02, piece=100))
        start = time.monotonic()
        assert exchange(quorum.bootstrap, FRAME) == whole
        assert time.monotonic() - start >= 0.02 * (len(whole) // 100)


@pytest.mark.parametrize("size", [0, 1, 9, 10_000])
def test_late_answer_is_completed_when_the_client_no_longer_waits(
    directory: Path, size: int
) -> None:
    """Here the client sends another request instead of leaving, which is a breach."""
    with Quorum(directory, allows_anything=True) as quorum:
        whole = exchange(quorum.bootstrap, FRAME)
        quorum.fail(Late(size))
        host, port = quorum.bootstrap.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=0.2) as connection:
            connection.sendall(FRAME)
            early = min(size, len(whole) - 1)
            assert _received(connection, early) == whole[:early]
            with pytest.raises(TimeoutError):
                connection.recv(1)
            assert not quorum.is_idle
            connection.sendall(FRAME)
            assert _received(connection, 2 * len(whole) - early) == whole[early:] + whole
        assert quorum.breaches == ["a second request before the answer to the first"]


def test_request_that_was_given_up_is_none_in_flight(directory: Path) -> None:
    with Quorum(directory, nodes=2, allows_anything=True) as quorum:
        quorum.fail(Slow(0.5), node_id=1, times=2)
        host, port = quorum.address(1).rsplit(":", 1)
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(FRAME)
            quorum.wait_for(lambda: not quorum.is_idle)
        exchange(quorum.address(2), FRAME)
        assert quorum.breaches == []
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(FRAME)
            quorum.wait_for(lambda: len(quorum.seen) == 3)
            exchange(quorum.address(2), FRAME)
        assert quorum.breaches == ["more than one request in flight"]


def test_answer_is_of_the_state_before_what_overtakes_it(directory: Path) -> None:
    with Quorum(directory) as quorum:
        whole = exchange(quorum.bootstrap, FRAME)
        quorum.fail(Overtaken(lambda: quorum.elect(-1)))
        assert exchange(quorum.bootstrap, FRAME) == whole
        assert exchange(quorum.bootstrap, FRAME) != whole


def test_silence_lasts_until_the_client_leaves(directory: Path) -> None:
    with Quorum(directory) as quorum:
        quorum.fail(Silent())
        host, port = quorum.bootstrap.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=0.2) as connection:
            connection.sendall(FRAME)
            with pytest.raises(TimeoutError):
                connection.recv(1)
        assert exchange(quorum.bootstrap, FRAME)


@pytest.mark.parametrize(
    ("fault", "at", "expected"),
    [(WrongCorrelation(), 4, 8), (WrongLength(-1), 0, -1), (WrongLength(2**31 - 1), 0, 2**31 - 1)],
)
def test_frame_lies(directory: Path, fault: Fault, at: int, expected: int) -> None:
    with Quorum(directory) as quorum:
        whole = exchange(quorum.bootstrap, FRAME)
        quorum.fail(fault)
        got = raw(quorum.bootstrap, FRAME, len(whole))
    assert struct.unpack_from(">i", got, at) == (expected,)
    assert got[:at] + whole[at : at + 4] + got[at + 4 :] == whole


def test_records_are_cut_or_changed(directory: Path) -> None:
    with Quorum(directory) as quorum:
        whole = bytes(partition(ask(quorum.bootstrap, REQUEST)).records)
        quorum.fail(CutRecords(5))
        assert bytes(partition(ask(quorum.bootstrap, REQUEST)).records) == whole[:-5]
        quorum.fail(FlipByte(-1))
        changed = bytes(partition(ask(quorum.bootstrap, REQUEST)).records)
        assert (changed[:-1], changed[-1]) == (whole[:-1], whole[-1] ^ 0x40)


def test_answer_with_other_fields(directory: Path) -> None:
    with Quorum(directory) as quorum:
        quorum.fail(Answer(error=6, leader_id=-1, leader_epoch=2, records=b""))
        found = partition(ask(quorum.bootstrap, REQUEST))
        assert (found.error_code, found.current_leader.leader_epoch) == (6, 2)
        quorum.fail(Answer(top_error=31))
        assert ask(quorum.bootstrap, REQUEST).error_code == 31


def test_change_between_request_and_answer(directory: Path) -> None:
    with Quorum(directory, nodes=2) as quorum:
        quorum.fail(Meanwhile(lambda: quorum.elect(2)))
        found = partition(ask(quorum.address(1), REQUEST))
    assert (found.error_code, found.current_leader.leader_id) == (74, 2)


def test_fault_comes_after_so_many_of_one_kind(directory: Path) -> None:
    with Quorum(directory) as quorum:
        quorum.fail(CloseAfter(0), key=FETCH, after=1, times=2)
        for is_closed in (False, True, True, False):
            ask(quorum.bootstrap, ApiVersionsRequest[0]())
            assert (raw(quorum.bootstrap, FRAME, 10) == b"") is is_closed
        assert [seen.header.key for seen in quorum.seen] == [API_VERSIONS, FETCH] * 4


def test_stopped_node_refuses_and_comes_back_at_its_port(directory: Path) -> None:
    with Quorum(directory, nodes=2) as quorum:
        address = quorum.address(1)
        quorum.stop(1)
        with pytest.raises(ConnectionRefusedError):
            exchange(address, FRAME)
        quorum.start(1)
        assert quorum.address(1) == address
        assert exchange(address, FRAME)


@pytest.mark.parametrize(
    ("asked", "breach"),
    [
        (fetch(17, epoch=3, replica_id=2), "replica id 2"),
        (fetch(17, epoch=3, last_epoch=-1), "last fetched epoch -1"),
        (fetch(18, epoch=3, high_watermark=-1), "a high watermark of -1"),
    ],
)
def test_guest_that_misbehaves_fails_the_test(directory: Path, asked: object, breach: str) -> None:
    with pytest.raises(AssertionError, match=breach), Quorum(directory, release="4.1") as quorum:
        ask(quorum.bootstrap, asked)


def test_second_request_in_flight_fails_the_test(directory: Path) -> None:
    waiting = fetch(17, epoch=3, offset=12, last_epoch=3, max_wait_ms=300)
    waiting.with_header(8, "peer")
    with pytest.raises(AssertionError, match="a second request"), Quorum(directory) as quorum:
        raw(quorum.bootstrap, bytes(waiting.encode(header=True, framed=True)) + FRAME, 200)


def test_stale_leader_gets_nothing_of_a_later_epoch(directory: Path) -> None:
    with Quorum(directory, nodes=3) as quorum:
        quorum.elect(2, unaware=(1,))
        quorum.append([leader_change(12, quorum.leader.epoch, 2)])
        assert [node.epoch for node in quorum.nodes.values()] == [3, 4, 4]
        assert [node.log.end_offset for node in quorum.nodes.values()] == [12, 13, 13]
        assert quorum.leader.node_id == 2


def test_faults_are_forgotten(directory: Path) -> None:
    with Quorum(directory) as quorum:
        quorum.fail(CloseAfter(0), times=5)
        quorum.clear_faults()
        assert exchange(quorum.bootstrap, FRAME)
