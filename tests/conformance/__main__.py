"""Decides the batches of real Kafka logs anew and compares the records: `make conformance`."""

import argparse
import sys

from tests.conformance.report import logs, outcomes, table


def main() -> int:
    """Print the table, and with --differences each batch that was decided differently; return 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument(
        "--differences", action="store_true", help="print each batch that came out otherwise"
    )
    options = parser.parse_args()
    found = list(outcomes(logs()))
    print(*table(found), sep="\n")
    if options.differences:
        for data_set, outcome in found:
            if not outcome.is_equal:
                what = outcome.difference or "no trigger is inferred"
                print(f"\n{data_set} offset {outcome.offset}, {outcome.kind}: {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
