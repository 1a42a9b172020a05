"""Recorded runs of all benchmarks, `runs/DATE.json`, and what a later run does worse."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.harness import Result

RUNS = Path(__file__).parent / "runs"
_NOISE = 1.15
"""Factor between the ratios of two runs of the same code on a quiet machine, rarely exceeded."""


class Worse(msgspec.Struct, frozen=True):
    """A ratio that became worse by more than the noise."""

    name: str
    before: float
    now: float


def newest(runs: Path = RUNS) -> Path | None:
    """Return the newest recorded run; None if there is none."""
    return max(runs.glob("*.json"), default=None)


def record(path: Path, results: Sequence[Result]) -> None:
    """Write the results of a run, a row a line."""
    rows = ",\n".join(msgspec.json.encode(each).decode() for each in results)
    path.write_text(f"[\n{rows}\n]\n")


def worse_than(path: Path, results: Sequence[Result]) -> Iterator[Worse]:
    """Yield the rows whose ratio is worse than in a recorded run.

    Only rows with a target are compared: the others do not say which way is worse.
    """
    before = {each.name: each.ratio for each in read(path)}
    for result in results:
        then, now = before.get(result.name), result.ratio
        if then is None or now is None or result.target is None:
            continue
        if now > then * _NOISE if result.at_most else now < then / _NOISE:
            yield Worse(result.name, then, now)


def read(path: Path) -> list[Result]:
    """Return the results of a recorded run."""
    return msgspec.json.decode(path.read_bytes(), type=list[Result])
