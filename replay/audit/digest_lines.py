"""The lines of docs/digest.md, from the numbers of each part."""

from collections.abc import Mapping, Sequence

from replay.audit.fold.texts import ALWAYS_LISTED

_NOTHING = (0, 0, 0, 0, 0)
_LANES = tuple(f"lane_{n}" for n in range(4))


def digest_lines(sums: Mapping[str, Sequence[int]]) -> list[str]:
    """Return a line `<part> <count> <lane 0> <lane 1> <lane 2> <lane 3>` per part, sorted by part.

    A part that differs between two states has different lines; equal parts have equal lines.

    Args:
        sums: By part, its number of objects and the four lanes; parts without objects may be
            missing.
    """
    listed = sorted(ALWAYS_LISTED | sums.keys())
    return [f"{part} {' '.join(map(str, sums.get(part, _NOTHING)))}\n" for part in listed]


def part_digests_sql(sums: Mapping[str, Sequence[int]]) -> str:
    """Return SQL of the view `part_digests`, which has a row for each part."""
    lines = (line.split() for line in digest_lines(sums))
    rows = ", ".join(f"('{part}', {', '.join(numbers)})" for part, *numbers in lines)
    lanes = ", ".join(f"CAST({lane} AS decimal(20,0)) AS {lane}" for lane in _LANES)
    return (
        f"SELECT part, CAST(objects AS bigint) AS objects, {lanes} "
        f"FROM (VALUES {rows}) AS parts(part, objects, {', '.join(_LANES)})"
    )
