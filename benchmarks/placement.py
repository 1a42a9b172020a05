"""Spread of leaders and replicas over brokers, by placement, for topics of real sizes.

    python -m benchmarks.placement [--topics CSV] [--picture DIRECTORY]

Draws 2,000 topics (partitions, replication factor) with replacement from a table of real ones, and
creates them one after the other on 5, 12 and 60 brokers, with and without racks. In half of the
runs, new brokers (a fifth of the initial number) join after half of the topics. Spread is given
twice: as the difference of the largest and smallest count of a broker, and as standard deviation
divided by mean.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import Result
from benchmarks.placement_picture import draw
from benchmarks.placement_simulation import Outcome, Spread, drawn, read_shapes, simulate
from controller.placement.registry import PLACERS

REFERENCE_VARIABLE = "METALOG_REFERENCE"
_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "reference"

_BROKERS = (5, 12, 60)
_COMPARED = ("classic", "striped", "balanced")


def run(scratch: Path) -> list[Result]:
    """Compare the spread of the balanced placement with that of the classic one."""
    path = topics_path()
    if path is None:
        print(f"placement: skipped, no real-topics.csv in {REFERENCE_VARIABLE}", file=sys.stderr)
        return []
    results = []
    shapes = drawn(read_shapes(path))
    for joining in (False, True):
        classic, balanced = (
            simulate(shapes, 12, PLACERS[name], name, racks=True, joining=joining)
            for name in ("classic", "balanced")
        )
        for what in ("leaders", "replicas"):
            ours, peer = (Spread.of(getattr(o, what)) for o in (balanced, classic))
            how = "brokers joining" if joining else "12 brokers"
            results.append(
                Result(
                    name=f"spread of {what}, {how}, 3 racks: balanced / classic",
                    ours=f"{ours.deviation:.2%}",
                    peer=f"{peer.deviation:.2%}",
                    ratio=ours.deviation / peer.deviation,
                    target=1,
                    at_most=True,
                )
            )
    return results


def topics_path() -> Path | None:
    """Return the path of the table of real topics, or None if it does not exist."""
    path = Path(os.environ.get(REFERENCE_VARIABLE, _BESIDE)) / "real-topics.csv"
    return path if path.is_file() else None


def main() -> int:
    """Print the table; draw the picture if requested."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.placement", description=__doc__)
    parser.add_argument("--topics", type=Path, default=topics_path(), help="table of real topics")
    parser.add_argument("--picture", type=Path, help="directory for placement.svg")
    arguments = parser.parse_args()
    if arguments.topics is None:
        print("error: no table of topics; name one with --topics", file=sys.stderr)
        return 2
    shapes = drawn(read_shapes(arguments.topics))
    outcomes = [
        simulate(shapes, brokers, PLACERS[name], name, racks=racks, joining=joining)
        for brokers in _BROKERS
        for racks in (False, True)
        for joining in (False, True)
        for name in _COMPARED
    ]
    _print_table(outcomes)
    if arguments.picture is not None:
        print(draw(outcomes, arguments.picture), file=sys.stderr)
    return 0


def _print_table(outcomes: Sequence[Outcome]) -> None:
    print("| brokers | racks | joining | placement | leaders: range | deviation "
          "| replicas: range | deviation |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    for o in outcomes:
        leaders, replicas = Spread.of(o.leaders), Spread.of(o.replicas)
        racks, joining = ("yes" if yes else "no" for yes in (o.racks, o.joining))
        print(
            f"| {o.brokers} | {racks} | {joining} | {o.placement} | {leaders.range} "
            f"| {leaders.deviation:.2%} | {replicas.range} | {replicas.deviation:.2%} |"
        )


if __name__ == "__main__":
    sys.exit(main())
