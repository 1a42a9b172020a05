"""Damage on the disk: every bit of small logs, and samples of a large one.

The first pieces together make every damage to three small logs, the others draw from a large one.
Each case is read to its end by a reader, and opened by a writer. It fails if there are fewer or
other records without an error, if an error is not true, or if it is not one of the log's own
errors.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial

import msgspec

from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place
from tests.torture.damage import changes, exchanges, samples, specimens
from tests.torture.damage.specimens import Specimen
from tests.torture.damage.verdict import judge

NAME = "corruption"
TEST = "flipped bits, cuts, moved blocks and files, files of other logs"
TARGET = 250_000

_STRIPES = 96
_SAMPLE_PIECES = 32
_SAMPLES_A_PIECE = 1_000
SEEDS_MIN = _STRIPES + _SAMPLE_PIECES
SEEDS_MAX: int | None = SEEDS_MIN
SOURCES: tuple[str, ...] = LOG_SOURCES
# Further failures of a piece say nothing new.
_FAILURES_MAX = 20


class _Case(msgspec.Struct, frozen=True):
    """A case: its number, a key that equal cases share, and the check to run."""

    point: int
    key: int
    question: Callable[[], Awaitable[str | None]]


def run(seed: int) -> Outcome:
    """Run a piece."""
    return _run(seed, _exhaustive(seed, _STRIPES) if seed < _STRIPES else _sampled(seed))


def run_every(step: int) -> Outcome:
    """Run every `step`-th damage of the small logs."""
    return _run(0, _exhaustive(0, step))


def reproduce(place: Place) -> Outcome:
    """Run one case again, or a whole piece."""
    if place.point is None:
        return run(place.seed)
    if place.seed < _STRIPES:
        return _run(place.seed, iter([_small_case(_small_logs(), place.point)]))
    return _run(place.seed, iter([_sample(specimens.large_log(), place.seed, place.point)]))


def shrink(failure: Failure) -> Failure:
    """Return the failure unchanged: one case cannot be shrunk."""
    return failure


def _run(seed: int, cases: Iterator[_Case]) -> Outcome:
    # The logs are written by event loops of their own, so before this one runs.
    first = next(cases)
    with _quiet():
        return asyncio.run(_judge_all(seed, first, cases))


async def _judge_all(seed: int, first: _Case, others: Iterator[_Case]) -> Outcome:
    done = 0
    seen: set[int] = set()
    failures: list[Failure] = []
    case: _Case | None = first
    while case is not None:
        done += 1
        if case.key not in seen:
            seen.add(case.key)
            message = await case.question()
            if message is not None and len(failures) < _FAILURES_MAX:
                place = Place(seed=seed, point=case.point)
                failures.append(Failure(campaign=NAME, place=place, message=message))
        case = next(others, None)
    return Outcome(done=done, distinct=len(seen), failures=tuple(failures))


_Family = tuple[Specimen, changes.Damages]


def _small_logs() -> list[_Family]:
    log, closed, mirror = specimens.open_log(), specimens.closed_log(), specimens.mirror()
    return [
        (log, changes.all_of(log, specimens.other_log())),
        # The segments are those of the log before: what differs is how it ended.
        (closed, changes.all_of(closed, unlike=log)),
        (mirror, changes.all_of(mirror)),
        *_exchanged_logs(),
    ]


def _exchanged_logs() -> list[_Family]:
    """Return damages that replace files of a log with a base checkpoint by those of other logs."""
    log, shared = specimens.retained(), specimens.mirror()
    bases = [name for name in log.spans if name.endswith(".checkpoint.avro")]
    others = (
        specimens.retained_fork(),
        specimens.retained_namesake(),
        specimens.retained_stranger(),
    )
    return [
        (log, changes.flips(log, bases)),
        (log, changes.truncations(log, bases)),
        *((log, exchanges.all_of(log, other)) for other in others),
        (shared, exchanges.all_of(shared, specimens.mirror_namesake())),
    ]


def _exhaustive(first: int, step: int) -> Iterator[_Case]:
    families = _small_logs()
    count = sum(len(damages) for _, damages in families)
    return (_small_case(families, point) for point in range(first, count, step))


def _small_case(families: list[_Family], point: int) -> _Case:
    index = point
    for specimen, damages in families:
        if index < len(damages):
            damage = damages[index]
            key = hash(frozenset(damage.files.items()))
            return _Case(point, key, partial(judge, specimen, damage))
        index -= len(damages)
    raise IndexError(f"no case {point}")


def _sampled(seed: int) -> Iterator[_Case]:
    specimen = specimens.large_log()
    return (_sample(specimen, seed, point) for point in range(_SAMPLES_A_PIECE))


def _sample(specimen: Specimen, seed: int, point: int) -> _Case:
    rng = random.Random(f"{seed} {point}")
    damage = samples.drawn(specimen, rng)
    # The words say it all, and the files are large.
    return _Case(point, hash(damage.what), partial(samples.judge_near, specimen, damage, rng))


@contextmanager
def _quiet() -> Iterator[None]:
    """Do not log the cuts made by recovery."""
    logger = logging.getLogger("metadata_log")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
