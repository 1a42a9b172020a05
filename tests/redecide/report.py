"""The results of repeating the decisions of a log, by command."""

from collections import Counter
from collections.abc import Iterable, Iterator

from controller.forks.redecisions import Redecided

_NO_COMMAND = "(nothing kept)"


class Report:
    """Counts decisions; keeps the first problems and differences.

    Attributes:
        kept: Decisions whose request is in the log, by command.
        decided: Those of them that could be repeated.
        equal: Those with the same records as in the log.
        not_kept: Decisions and writes whose request is not in the log.
    """

    def __init__(self, shown_max: int = 10) -> None:
        self.kept: Counter[str] = Counter()
        self.decided: Counter[str] = Counter()
        self.equal: Counter[str] = Counter()
        self.not_kept = 0
        self.shown: list[str] = []
        self._shown_max = shown_max

    @property
    def is_perfect(self) -> bool:
        """True if every decision with its request in the log could be repeated and is equal."""
        return self.kept == self.equal

    def add(self, log: str, redecided: Iterable[Redecided]) -> "Report":
        """Count the decisions of a log."""
        for one in redecided:
            if one.command is None:
                self.not_kept += 1
                continue
            self.kept[one.command] += 1
            self.decided[one.command] += one.problem is None
            self.equal[one.command] += one.problem is None and one.difference is None
            what = one.problem or one.difference
            if what is not None and len(self.shown) < self._shown_max:
                self.shown.append(f"{log} offset {one.offset}, {one.command}: {what}")
        return self

    def lines(self) -> Iterator[str]:
        """Yield the table, and then the problems."""
        yield f"{'command':<26}{'kept':>8}{'decided':>18}{'equal':>18}"
        for command in sorted(self.kept):
            yield self._line(command, *[c[command] for c in (self.kept, self.decided, self.equal)])
        yield self._line("all", *[c.total() for c in (self.kept, self.decided, self.equal)])
        yield f"{_NO_COMMAND:<26}{self.not_kept:>8}"
        yield from self.shown

    def _line(self, name: str, kept: int, decided: int, equal: int) -> str:
        return f"{name:<26}{kept:>8}{_share(decided, kept)}{_share(equal, decided)}"


def _share(part: int, whole: int) -> str:
    share = 100 * part / whole if whole else 100.0
    return f"{part:>9} {share:>6.2f} %"
