"""The result of each mutant, kept on disk as long as it is valid, and the table of them."""

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
    """The result of one mutant.

    Attributes:
        site_digest: Digest of the changed file.
        test: The first test that failed; empty if none did.
        test_digest: Digest of that test's file; of all code and tests if no test failed.
        how: How it was noticed: a test failed, a time-out, or a failed import.
        tests: Number of tests that ran.
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
    """Return the results that are still valid, by site.

    A mutant counts as noticed while its file and the file of the test are unchanged, and as missed
    while all code and tests are.
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
    """Return, by the key of a site, the reason why its mutation does not change the behaviour."""
    lines = _EQUIVALENT.read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def table(sites: Sequence[Site], results: dict[str, Result]) -> str:
    """Return the results of the drawn sites by package, and a list of the missed mutants."""
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
    """Return the mutation as a change of a line, with its place and key."""
    source = (ROOT / site.file).read_bytes()
    line = source.splitlines()[site.line - 1].decode().strip()
    mutated = site.mutated(source).splitlines()[site.line - 1].decode().strip()
    place = f"{site.file}:{site.line} {site.key} ({site.operator})"
    return f"{place}\n  - {line}\n  + {mutated}"


def rate(sites: Sequence[Site], results: dict[str, Result]) -> int:
    """Return the share of noticed mutants, in percent, of those that ran and are not equivalent."""
    shown = equivalent()
    return _rate(Counter(_outcome(s, results, shown) for s in sites if s.key in results))


def _rate(count: Counter[str]) -> int:
    ran = count[NOTICED] + count[MISSED]
    return 100 * count[NOTICED] // ran if ran else 100


def _outcome(site: Site, results: dict[str, Result], shown: dict[str, str]) -> str:
    outcome = results[site.key].outcome
    return EQUIVALENT if outcome == MISSED and site.key in shown else outcome
