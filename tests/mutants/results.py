"""What became of each mutant: kept on disk as long as it holds, and the table of it."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.mutants.draw import package_of
from tests.mutants.sites import Site
from tests.mutants.trees import FOLDER, ROOT, digest

NOTICED = "noticed"
MISSED = "missed"
UNKNOWN = "unknown"
EQUIVALENT = "changes nothing (shown)"
_RESULTS = FOLDER / "results.jsonl"
_EQUIVALENT = Path(__file__).parent / "equivalent.txt"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one mutant.

    Attributes:
        site_digest: Of the file that was changed.
        test: The first test that failed; empty if none did.
        test_digest: Of that test's file; of all the code and tests, when it was missed.
        how: How it was noticed: by a test that failed, a time-out, or no import.
        tests: How many tests ran.
    """

    key: str
    site_digest: str
    outcome: str
    test: str = ""
    test_digest: str = ""
    how: str = ""
    tests: int = 0
    seconds: float = 0.0


def keep(result: Result) -> None:
    """Add a result to those on disk."""
    with _RESULTS.open("ab") as out:
        out.write(msgspec.json.encode(result) + b"\n")


def known(sites: Sequence[Site], tree_digest: str) -> dict[str, Result]:
    """Return the results that still hold, by site.

    A mutant stays noticed while its file and the file of the test are the same; missed, while all
    code and tests are.
    """
    wanted = {site.key: digest(ROOT / site.file) for site in sites}
    found: dict[str, Result] = {}
    for line in _RESULTS.read_bytes().splitlines() if _RESULTS.exists() else []:
        result = msgspec.json.decode(line, type=Result)
        file = result.test.partition("::")[0]
        now = digest(ROOT / file) if file else tree_digest
        holds = wanted.get(result.key) == result.site_digest and result.test_digest == now
        if holds and result.outcome != UNKNOWN:
            found[result.key] = result
        else:
            found.pop(result.key, None)
    return found


def equivalent() -> dict[str, str]:
    """Return the reason why a site changes nothing, by the site's key."""
    lines = _EQUIVALENT.read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def table(sites: Sequence[Site], results: dict[str, Result]) -> str:
    """Return what became of the drawn sites by package, and every one that was missed."""
    shown = equivalent()
    counts: dict[str, Counter[str]] = {}
    for site in sites:
        count = counts.setdefault(package_of(site.file), Counter())
        if site.key in results:
            count[_outcome(site, results, shown)] += 1
        count["drawn"] += 1
    total = sum(counts.values(), Counter())
    columns = ("drawn", NOTICED, MISSED, EQUIVALENT)
    lines = [f"{'package':24}" + "".join(f"{c:>{len(c) + 3}}" for c in columns) + "   rate"]
    for name, count in [*sorted(counts.items()), ("all", total)]:
        cells = "".join(f"{count[c]:>{len(c) + 3}}" for c in columns)
        lines.append(f"{name:24}{cells}{_rate(count):>6}%")
    how = Counter(results[s.key].how for s in sites if s.key in results and results[s.key].how)
    lines += ["", "noticed by: " + ", ".join(f"{n} {name}" for name, n in how.most_common())]
    lines += [
        f"{title}: " + description(site) + reason
        for title in (EQUIVALENT, MISSED)
        for site in sites
        if site.key in results and _outcome(site, results, shown) == title
        for reason in [f"\n    {shown[site.key]}" if title == EQUIVALENT else ""]
    ]
    return "\n".join(lines)


def description(site: Site) -> str:
    """Return a site as a change of a line, with its place and key."""
    source = (ROOT / site.file).read_bytes()
    line = source.splitlines()[site.line - 1].decode().strip()
    mutated = site.mutated(source).splitlines()[site.line - 1].decode().strip()
    place = f"{site.file}:{site.line} {site.key} ({site.operator})"
    return f"{place}\n  - {line}\n  + {mutated}"


def rate(sites: Sequence[Site], results: dict[str, Result]) -> int:
    """Return how many percent of the mutants that ran, and change something, were noticed."""
    shown = equivalent()
    return _rate(Counter(_outcome(s, results, shown) for s in sites if s.key in results))


def _rate(count: Counter[str]) -> int:
    ran = count[NOTICED] + count[MISSED]
    return 100 * count[NOTICED] // ran if ran else 100


def _outcome(site: Site, results: dict[str, Result], shown: dict[str, str]) -> str:
    outcome = results[site.key].outcome
    return EQUIVALENT if outcome == MISSED and site.key in shown else outcome
