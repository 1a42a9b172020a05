"""The lists of tests that are left out of a suite."""

from pathlib import Path


def left_out(suite: str) -> dict[str, str]:
    """Return the reasons by the tests' names, from `SUITE.txt` in this folder."""
    return reasons(Path(__file__).parent / f"{suite}.txt")


def reasons(file: Path) -> dict[str, str]:
    """Return the reasons by the tests' names.

    A line is the name, ` | ` and the reason; lines that begin with `#` are comments.
    """
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    pairs = [line.split(" | ", 1) for line in lines]
    return {name.strip(): reason.strip() for name, reason in pairs}
