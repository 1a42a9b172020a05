"""`make torture`: try to break the log in every way we know, and count the cases.

Without `--seed` the given campaigns, or all, run until their targets are met; an interrupted run is
resumed. SIGTERM completes the pieces that are handed out, and prints the table. With `--seed` one
piece, or the part of it that failed, runs again, and a failure is shrunk.
"""

import argparse
import functools
import signal
import sys
import threading
import time
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from tests.torture.campaign import Campaign, Failure, Place
from tests.torture.registry import CAMPAIGNS, find
from tests.torture.report import Results, document, table
from tests.torture.runner import make_pool, quiet, run_campaign
from tests.torture.tally import Tally


def main(words: list[str] | None = None) -> int:
    """Run campaigns; exit 1 on a failure, or with --require-targets if a target is not met."""
    arguments = _parser().parse_args(words)
    campaigns = [find(name) for name in arguments.campaigns] or list(CAMPAIGNS)
    if arguments.seed is not None:
        return _reproduce(campaigns, arguments)
    results = _run(campaigns, arguments)
    print(document(results) if arguments.json else table(results))
    missed = any(not tally.is_complete(campaign) for campaign, tally in results)
    failed = any(tally.failure_count for _, tally in results)
    return int(failed or (arguments.require_targets and missed))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    names = [campaign.NAME for campaign in CAMPAIGNS]
    parser.add_argument("campaigns", nargs="*", choices=[[], *names], default=[])
    parser.add_argument("--state", type=Path, default=Path(".torture"), metavar="DIR")
    parser.add_argument("--minutes", type=float, help="stop after this long; go on another time")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--require-targets", action="store_true")
    again = parser.add_argument_group("see a failure again")
    again.add_argument("--seed", type=int)
    again.add_argument("--point", type=int)
    again.add_argument("--state-id", type=int)
    again.add_argument("--keep", type=_numbers, help="operations to keep, such as 0,3,4")
    again.add_argument("--no-shrink", action="store_true")
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    return () if text == "none" else tuple(int(word) for word in text.split(","))


def _run(campaigns: list[Campaign], arguments: argparse.Namespace) -> Results:
    deadline = None if arguments.minutes is None else time.monotonic() + 60 * arguments.minutes
    results: Results = []
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with make_pool(arguments.jobs) as pool, _bars() as bars:
        for campaign in campaigns:
            bar = bars.add_task(campaign.NAME, total=campaign.TARGET, failures=0)
            tally = run_campaign(
                campaign,
                arguments.state,
                pool,
                jobs=arguments.jobs,
                deadline=deadline,
                progress=functools.partial(_update, bars, bar),
                stop=stop,
            )
            results.append((campaign, tally))
    return results


def _update(bars: Progress, bar: TaskID, tally: Tally) -> None:
    bars.update(bar, completed=tally.done, failures=tally.failure_count)


def _bars() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failures]} failures"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )


def _reproduce(campaigns: list[Campaign], arguments: argparse.Namespace) -> int:
    if len(campaigns) != 1:
        print("name one campaign with --seed", file=sys.stderr)
        return 2
    place = Place(
        seed=arguments.seed,
        point=arguments.point,
        state_id=arguments.state_id,
        keep=arguments.keep,
    )
    if place.state_id is None:
        quiet()
    outcome = campaigns[0].reproduce(place)
    print(f"{outcome.done} cases, {outcome.distinct} distinct, {len(outcome.failures)} failures")
    for failure in outcome.failures[:10]:
        _show(failure)
    if outcome.failures and not arguments.no_shrink:
        quiet()
        print("\nsmallest found:")
        _show(campaigns[0].shrink(outcome.failures[0]))
    return int(bool(outcome.failures))


def _show(failure: Failure) -> None:
    print(f"{failure.message}\n  {failure.command}")


if __name__ == "__main__":
    sys.exit(main())
