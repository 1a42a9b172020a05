"""Which controller is asked: pure, on what the controllers say."""

import asyncio
import logging
from pathlib import Path

import pytest

from api.quorum import observer as observers
from api.quorum.answers import Leader
from api.quorum.backoff import BackOff
from api.quorum.leaders import Leaders
from api.quorum.observer import Observer
from api.quorum.requests import Position
from api.security.client import ConnectionSecurity
from records.base import ZERO_UUID
from records.brokers import ControllerEndpoint, RegisterControllerRecord
from records.control import NoOpRecord
from records.errors import UnavailableError
from tests.api.quorum.quorums import read
from tests.metadata_log.kraft.node import Node
from tests.stand_in_quorum import FETCH, Quorum

_FIRST, _SECOND, _THIRD = ("c1", 1), ("c2", 2), ("c3", 3)


def test_leader_is_asked_where_its_own_answer_says() -> None:
    leaders = Leaders([_FIRST, _SECOND], {})
    assert leaders.named(Leader(3, 7, _THIRD))
    assert (leaders.next_address(), leaders.epoch) == (_THIRD, 7)


def test_address_of_the_user_comes_first_and_that_of_the_log_last() -> None:
    leaders = Leaders([_FIRST], {3: _SECOND})
    leaders.named(Leader(3, 7, _THIRD))
    assert leaders.next_address() == _SECOND
    leaders = Leaders([_FIRST], {})
    leaders.learn(3, _SECOND)
    leaders.named(Leader(3, 7))
    assert leaders.next_address() == _SECOND
    leaders.named(Leader(3, 8, _THIRD))
    assert leaders.next_address() == _THIRD


def test_earlier_epoch_is_ignored() -> None:
    leaders = Leaders([_FIRST], {})
    leaders.named(Leader(3, 7, _THIRD))
    assert not leaders.named(Leader(2, 6, _SECOND))
    assert leaders.next_address() == _THIRD


def test_epoch_without_a_leader_is_asked_for_everywhere() -> None:
    leaders = Leaders([_FIRST, _SECOND], {})
    leaders.named(Leader(3, 7, _THIRD))
    assert leaders.named(Leader(-1, 8))
    assert leaders.next_address() == _FIRST
    leaders.failed(_FIRST)
    assert leaders.next_address() == _SECOND


def test_address_that_cannot_be_reached_is_left_for_the_given_ones_and_tried_later() -> None:
    leaders = Leaders([_FIRST, _SECOND], {})
    leaders.named(Leader(3, 7, _THIRD))
    asked = []
    for _ in range(7):
        asked.append(leaders.next_address())
        leaders.failed(asked[-1])
        leaders.named(Leader(3, 7, _THIRD))
    assert asked == [_THIRD, _FIRST, _SECOND, _THIRD, _FIRST, _SECOND, _THIRD]


@pytest.mark.parametrize("part", [0.5, 1.0])
def test_waits_grow_from_a_tenth_of_a_second_to_five_seconds(part: float) -> None:
    back_off = BackOff(lambda low, high: part)
    waits = [back_off.next_s() for _ in range(30)]
    assert waits[:4] == [0.1 * part, 0.2 * part, 0.4 * part, 0.8 * part]
    assert waits == sorted(waits)
    assert waits[-1] == 5 * part
    back_off.reset()
    assert back_off.next_s() == 0.1 * part


def test_leader_of_an_early_release_is_asked_where_the_log_says(tmp_path: Path) -> None:
    node = Node(tmp_path / "node")
    with Quorum(node.partition, release="3.7", nodes=3) as quorum:
        port = int(quorum.address(1).split(":")[1])
        listener = ControllerEndpoint(
            name="CONTROLLER", host="127.0.0.1", port=port, security_protocol=0
        )
        node.append(
            RegisterControllerRecord(
                controller_id=1,
                incarnation_id=ZERO_UUID,
                zk_migration_ready=False,
                end_points=(listener,),
                features=(),
            )
        )
        node.append(NoOpRecord())
        quorum.append(type(quorum.source).of_directory(node.partition).batches[1:])
        assert read(quorum, tmp_path / "log").code == 0
        before = len(quorum.asked(FETCH))
        done = read(quorum, tmp_path / "log", url=f"kafka://{quorum.address(2)}")
        asked = [seen.node_id for seen in quorum.asked(FETCH)[before:]]
    assert done.code == 0
    assert asked[0] == 2
    assert set(asked[1:]) == {1}


@pytest.mark.parametrize(
    ("release", "advice"),
    [("3.3", "whose address is not known"), ("3.9", "if this machine cannot reach the address")],
)
async def test_leader_that_is_not_found_is_said_with_what_to_do(
    partition: Path, release: str, advice: str
) -> None:
    with Quorum(partition, release=release, nodes=3) as quorum:
        host, _, port = quorum.address(2).rpartition(":")
        quorum.stop(1)
        observer = Observer(
            [(host, int(port))],
            cluster_id=quorum.cluster_id,
            security=ConnectionSecurity,
            give_up_s=0.1,
        )
        async with observer:
            with pytest.raises(UnavailableError, match=advice):
                await observer.fetch(Position())


async def test_follower_warns_once_if_nobody_answers_for_long(
    partition: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(observers, "SAID_AFTER_S", 0.3)

    def warnings() -> list[str]:
        return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]

    with Quorum(partition) as quorum:
        host, port = quorum.address(1).split(":")
        async with Observer(
            [(host, int(port))],
            cluster_id=quorum.cluster_id,
            security=ConnectionSecurity,
            give_up_s=None,
            back_off=BackOff(),
        ) as observer:
            for _ in range(2):
                await observer.fetch(Position())
                caplog.clear()
                quorum.stop(1)
                asking = asyncio.create_task(observer.fetch(Position()))
                async with asyncio.timeout(30):
                    while not warnings():
                        await asyncio.sleep(0.05)
                await asyncio.sleep(1)
                quorum.start(1)
                await asking
                (said,) = warnings()
                assert said.startswith("no leader of the quorum answers: ")
                assert said.endswith("; trying again")
