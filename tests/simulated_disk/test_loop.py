"""The simulated loop: virtual time, no threads, and an error if nothing can continue."""

import asyncio
from contextvars import copy_context

import pytest

from tests.simulated_disk.loop import PROCESS, SimulatedLoop, Stuck


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


def test_a_paused_process_goes_on_later_while_time_passes_for_others() -> None:
    loop = SimulatedLoop()
    ticks: list[tuple[str, float]] = []

    async def tick(name: str) -> None:
        while True:
            await asyncio.sleep(1.0)
            ticks.append((name, loop.time()))

    for name in ("paused", "other"):
        context = copy_context()
        context.run(PROCESS.set, name)
        loop.create_task(tick(name), context=context)
    loop.advance(1.0)
    loop.pause("paused")
    loop.advance(2.5)
    assert ticks[2:] == [("other", 2.0), ("other", 3.0)]
    loop.resume("paused")
    loop.advance(1.0)
    assert ticks[4:] == [("paused", 3.5), ("other", 4.0), ("paused", 4.5)]


def test_the_loop_is_at_rest_before_time_moves_on() -> None:
    loop = SimulatedLoop()
    seen: list[tuple[float, int]] = []
    done: list[int] = []
    loop.at_rest = lambda: seen.append((loop.time(), len(done)))
    for number in range(3):
        loop.call_later(1.0, done.append, number)
    loop.advance(2.0)
    assert seen[0] == (0.0, 0)
    assert seen[-1] == (1.0, 3)
