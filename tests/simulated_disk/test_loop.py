"""The simulated loop: virtual time, no threads, and an error if nothing can continue."""

import asyncio

import pytest

from tests.simulated_disk.loop import SimulatedLoop, Stuck


def test_callers_run_in_the_order_of_their_calls() -> None:
    loop = SimulatedLoop()
    order: list[int] = []

    async def caller(number: int) -> int:
        order.append(number)
        await asyncio.sleep(0)
        order.append(number)
        return number

    async def together() -> list[int]:
        return await asyncio.gather(*(caller(number) for number in range(3)))

    assert loop.run(together()) == [0, 1, 2]
    assert order == [0, 1, 2, 0, 1, 2]


def test_waiting_for_what_never_comes_is_noticed() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stuck):
        SimulatedLoop().run(wait())


def test_time_passes_only_when_advanced() -> None:
    loop = SimulatedLoop()
    fired: list[float] = []
    loop.call_later(2.0, lambda: fired.append(loop.time()))
    cancelled = loop.call_later(1.0, lambda: fired.append(-1.0))
    cancelled.cancel()
    loop.advance(1.5)
    assert fired == []
    loop.advance(1.0)
    assert fired == [2.0]
    assert loop.time() == 2.5


def test_exception_of_an_unawaited_task_is_kept() -> None:
    loop = SimulatedLoop()

    def fail() -> None:
        raise ValueError("lost")

    loop.call_later(1.0, fail)
    loop.advance(2.0)
    assert [str(error) for error in loop.errors] == ["lost"]
