"""Draw mutants, run the tests that could notice each, and print which were noticed.

Results are kept in `.mutants/`: an interrupted run is resumed, and after a change only the mutants
that it may affect run again.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.mutants.draw import PACKAGES, all_sites, draw
from tests.mutants.record import record
from tests.mutants.results import (
    MISSED,
    NOTICED,
    UNKNOWN,
    Result,
    description,
    equivalent,
    keep,
    known,
    rate,
    table,
)
from tests.mutants.run import Ended, Outcome, load_libraries, planted, run_tests
from tests.mutants.selection import Selection
from tests.mutants.sites import Site
from tests.mutants.trees import FOLDER, ROOT, copy_tree, digest, digest_of_tree

SEED = 20_261_122
COUNT = 400
GOAL_PERCENT = 92
# The nearest and fastest tests come first, alone: most mutants are noticed by one of them.
_FIRST_S = 4.0
_COLLECT_S = 600.0
_TREE = FOLDER / "tree"


def main(words: Sequence[str] | None = None) -> int:
    """Run the mutants; return 1 if fewer than the goal were noticed."""
    options = _parser().parse_args(words)
    packages = options.packages or PACKAGES
    sites = draw(all_sites(ROOT, packages), options.count, options.seed)
    FOLDER.mkdir(exist_ok=True)
    tree_digest = digest_of_tree()
    results = known(sites, tree_digest)
    if options.again:
        results = {key: r for key, r in results.items() if r.outcome == NOTICED}
    waiting = [site for site in sites if site.key not in results and site.key not in equivalent()]
    if waiting and not options.table:
        selection = Selection(ROOT, *record(anew=options.record))
        runner = _Runner(_TREE, selection, options.seconds, tree_digest)
        for number, site in enumerate(waiting, 1):
            result = results[site.key] = runner.run(site)
            keep(result)
            print(
                f"{number}/{len(waiting)} {result.outcome} {result.seconds:.1f} s {result.how} "
                f"{result.test or description(site)}",
                flush=True,
            )
        for result in runner.not_believed(results):
            keep(result)
            del results[result.key]
            print(f"{result.test} fails on the code as it is: not counted, run again", flush=True)
    results |= {
        site.key: Result(key=site.key, site_digest="", outcome=MISSED)
        for site in sites
        if site.key in equivalent()
    }
    print(table(sites, results))
    return int(rate(sites, results) < GOAL_PERCENT)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--seconds", type=float, default=30.0, help="of tests for one mutant")
    parser.add_argument("--record", action="store_true", help="record anew what each test runs")
    parser.add_argument("--again", action="store_true", help="run again those that were missed")
    parser.add_argument("--table", action="store_true", help="only print what is known")
    parser.add_argument("packages", nargs="*", help=f"folders or modules; {', '.join(PACKAGES)}")
    return parser


class _Runner:
    """Runs mutants in a copy of the project."""

    def __init__(self, tree: Path, selection: Selection, budget_s: float, tree_digest: str) -> None:
        load_libraries()
        copy_tree(tree)
        # Collects every file and runs nothing, so that compiled modules are there.
        (ended,) = run_tests(tree, selection.files(), _COLLECT_S, write_compiled=True)
        if ended.outcome is not Outcome.PASSED:
            raise SystemExit(f"the tests cannot be collected: see {tree / 'output.txt'}")
        self._tree = tree
        self._selection = selection
        self._budget_s = budget_s
        self._tree_digest = tree_digest

    def run(self, site: Site) -> Result:
        """Apply a mutation, and run its tests until one fails."""
        started = time.monotonic()
        tests = self._selection.tests_of(site, self._budget_s)
        ended, ran = Ended(Outcome.PASSED), 0
        for part in self._parts(tests):
            limit_s = 30 + 10 * self._selection.seconds(part)
            with planted(self._tree, site):
                (ended,) = run_tests(self._tree, part, limit_s)
            if ended.outcome is Outcome.TIMED_OUT:
                # Or is it only a busy machine?
                (ended,) = [ended] if self._ends(part, limit_s / 2) else [Ended(Outcome.PASSED)]
            ran += len(part)
            if ended.outcome is not Outcome.PASSED:
                break
        missed = ended.outcome is Outcome.PASSED
        file = ended.test.partition("::")[0]
        return Result(
            key=site.key,
            site_digest=digest(self._tree / site.file),
            outcome=MISSED if missed else NOTICED,
            test=ended.test,
            test_digest=digest(self._tree / file) if file else self._tree_digest,
            how="" if missed else ended.outcome.value,
            tests=ran,
            seconds=round(time.monotonic() - started, 1),
        )

    def not_believed(self, results: dict[str, Result]) -> list[Result]:
        """Run each test that noticed a mutant once without a mutation.

        Returns:
            The results of tests that fail even so; they count as unknown.
        """
        tests = sorted({r.test for r in results.values() if "::" in r.test})
        limit_s = 60 + 10 * self._selection.seconds(tests)
        failed = {ended.test for ended in run_tests(self._tree, tests, limit_s, stop=False)}
        return [
            msgspec.structs.replace(result, outcome=UNKNOWN)
            for result in results.values()
            if result.test in failed and result.test
        ]

    def _ends(self, tests: list[str], limit_s: float) -> bool:
        (ended,) = run_tests(self._tree, tests, limit_s)
        return ended.outcome is not Outcome.TIMED_OUT

    def _parts(self, tests: list[str]) -> list[list[str]]:
        """Split tests into the first few and the rest."""
        total, first = 0.0, 0
        for test in tests:
            total += self._selection.seconds([test])
            if total > _FIRST_S:
                break
            first += 1
        return [part for part in (tests[: max(first, 1)], tests[max(first, 1) :]) if part]


if __name__ == "__main__":
    sys.exit(main())
