"""Selects the tests that run a site, from the recorded hits: the nearest and fastest first."""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

import msgspec

from tests.mutants.hits import Statement, statement_key
from tests.mutants.sites import Site

# What a test takes beside its own time.
_FIXED_S = 0.02


class Recorded(msgspec.Struct, frozen=True):
    """One recorded test: its duration, and the keys of the statements that it executed."""

    test: str
    file_digest: str
    outcome: str
    seconds: float
    hits: frozenset[str]


class Selection:
    """Selects the tests of a site."""

    def __init__(
        self, root: Path, recorded: Iterable[Recorded], statements: Sequence[Statement]
    ) -> None:
        self._root = root
        self._words_of: dict[str, frozenset[str]] = {}
        self._seconds: dict[str, float] = {}
        self._by_statement: dict[str, set[str]] = defaultdict(set)
        for test in recorded:
            if test.outcome != "passed":
                continue
            self._seconds[test.test] = test.seconds
            for key in test.hits:
                self._by_statement[key].add(test.test)
        self._by_file: dict[str, list[str]] = defaultdict(list)
        for name in self._seconds:
            self._by_file[name.partition("::")[0]].append(name)
        self._by_function: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._by_name: dict[str, set[str]] = defaultdict(set)
        for statement in statements:
            tests = self._by_statement[statement.key]
            self._by_function[statement.file, statement.function] |= tests
            for name in statement.names:
                self._by_name[name] |= tests
        self._used_by: dict[str, set[str]] = defaultdict(set)
        for statement in statements:
            for name in statement.names if statement.bound else ():
                self._used_by[name].update(statement.bound)

    def tests_of(self, site: Site, budget_s: float) -> list[str]:
        """Return the tests that run a site, with a total duration of at most `budget_s`."""
        found = self._running(site)
        if found and all(sum(1 for _ in tests) == 1 for _, tests in _by_file(found)):
            # Computed once a process: any other test of these files may be the one that looks.
            found = {test: 0 for file, _ in _by_file(found) for test in self._by_file[file]}
        total = 0.0
        chosen: list[str] = []
        for test in sorted(found, key=lambda test: self._order(site, test, found[test])):
            total += self._seconds[test] + _FIXED_S
            if chosen and total > budget_s:
                break
            chosen.append(test)
        return chosen

    def files(self) -> list[str]:
        """Return the files of all recorded tests."""
        return sorted(self._by_file)

    def seconds(self, tests: Iterable[str]) -> float:
        """Return the recorded duration of tests."""
        return sum(self._seconds.get(test, 0.0) for test in tests)

    def _running(self, site: Site) -> dict[str, int]:
        """Return the tests that run a site, each with a rank; the lowest ranks test it most
        directly.
        """
        if site.bound:
            users = [self._by_name[name] for name in self._made_of(site.bound)]
            # A name that few tests come across says more than one that all do.
            ranked = sorted(users, key=len, reverse=True)
            found = dict.fromkeys(self._naming(site), len(self._seconds))
            return found | {test: len(tests) for tests in ranked for test in tests}
        line = (self._root / site.file).read_text().splitlines()[site.statement_line - 1]
        tests = self._by_statement[statement_key(site.file, site.function, line)]
        # A line that is newer than the recording is run by who runs its function.
        return dict.fromkeys(tests or self._by_function[site.file, site.function], 0)

    def _naming(self, site: Site) -> list[str]:
        """Return the tests of the same package whose files contain a name that the site sets.

        A test that only compares a constant runs no statement of the sources.
        """
        room = str(PurePath("tests") / PurePath(site.file).parent)
        files = [file for file in self._by_file if file.startswith(f"{room}/")]
        named = [file for file in files if not self._words(file).isdisjoint(site.bound)]
        return [test for file in named for test in self._by_file[file]]

    def _made_of(self, bound: Iterable[str]) -> set[str]:
        """Return the given names, and all names that are computed from them at import."""
        found: set[str] = set()
        waiting = list(bound)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self._used_by[name]
        return found

    def _order(self, site: Site, test: str, rank: int) -> tuple[bool, bool, int, bool, float]:
        file = PurePath(test.partition("::")[0])
        # A test of a constant names it.
        is_named = any(name in self._words(str(file)) for name in site.bound)
        room = PurePath("tests") / PurePath(site.file).parent
        is_near = file.parent == room or room in file.parents
        is_nearest = is_near and PurePath(site.file).stem in file.stem
        return not is_named, not is_nearest, rank, not is_near, self._seconds[test]

    def _words(self, file: str) -> frozenset[str]:
        if file not in self._words_of:
            text = (self._root / file).read_text()
            self._words_of[file] = frozenset(re.findall(r"[A-Za-z_]\w*", text))
        return self._words_of[file]


def _by_file(tests: Iterable[str]) -> Iterable[tuple[str, Iterable[str]]]:
    return itertools.groupby(sorted(tests), key=lambda test: test.partition("::")[0])
