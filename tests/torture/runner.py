"""Runs pieces of campaigns on several processes, with progress, until the targets are met."""

import logging
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from tests.torture import tally as tallies
from tests.torture.campaign import Campaign, Outcome
from tests.torture.decode_cache import remember_decoding
from tests.torture.registry import find
from tests.torture.tally import Tally

# What is lost at most when a run is killed; pieces may take no more than milliseconds.
_SAVE_EVERY_SECONDS = 2.0

Progress = Callable[[Tally], None]


def run_campaign(
    campaign: Campaign,
    directory: Path,
    pool: ProcessPoolExecutor,
    *,
    jobs: int,
    deadline: float | None,
    progress: Progress,
    stop: threading.Event | None = None,
) -> Tally:
    """Run pieces until the target is met, none is left, or the time is up.

    Args:
        directory: Folder in which the progress is stored.
        deadline: Time of `time.monotonic` in seconds; running pieces are completed.
        stop: If it is set, as after the deadline.
    """
    tally = tallies.load(directory, campaign)
    seeds = tally.seeds_left(campaign)
    running: dict[Future[tuple[Outcome, float]], int] = {}
    saved = time.monotonic()
    while True:
        is_late = _is_late(deadline) or (stop is not None and stop.is_set())
        if not tally.is_complete(campaign) and not is_late:
            _hand_out(campaign, seeds, pool, running, jobs)
        progress(tally)
        if not running:
            tallies.save(directory, campaign, tally)
            return tally
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            outcome, seconds = future.result()
            tally.add(running.pop(future), outcome, seconds)
        if time.monotonic() - saved > _SAVE_EVERY_SECONDS:
            tallies.save(directory, campaign, tally)
            saved = time.monotonic()


def make_pool(jobs: int) -> ProcessPoolExecutor:
    """Return new processes, not forks: a fork would inherit the threads of the progress display."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare)


def _prepare() -> None:
    quiet()
    remember_decoding()


def quiet() -> None:
    """Do not log each of a million cuts made by recovery."""
    logging.disable(logging.WARNING)


def _hand_out(
    campaign: Campaign,
    seeds: Iterator[int],
    pool: ProcessPoolExecutor,
    running: dict[Future[tuple[Outcome, float]], int],
    jobs: int,
) -> None:
    # One more than there are processes, so that none waits for this one.
    while len(running) <= jobs:
        seed = next(seeds, None)
        if seed is None:
            return
        running[pool.submit(_run_piece, campaign.NAME, seed)] = seed


def _run_piece(name: str, seed: int) -> tuple[Outcome, float]:
    started = time.process_time()
    outcome = find(name).run(seed)
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        os._exit(1)  # it was killed, so this process would wait for its next piece for ever
    return outcome, time.process_time() - started


def _is_late(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline
