"""`metalog --help`, against Python doing nothing."""

import subprocess
import sys
from pathlib import Path

from benchmarks.harness import Result, milliseconds, time_in_turn


def run(scratch: Path) -> list[Result]:
    """Measure whole processes; shown, not judged."""
    timed = time_in_turn(
        lambda: _process("-m", "api.cli", "--help"), lambda: _process("-c", "pass"), rounds=9
    )
    return [
        Result(
            name="metalog --help / python -c pass",
            ours=milliseconds(timed.ours),
            peer=milliseconds(timed.peer),
            ratio=timed.share,
        )
    ]


def _process(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
