"""Clauses of a summary, and the words that all of them use."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from records.text import duration_text, time_text
from replay.incidents.overview import Overview

CLEAN = "controlled shutdown"

_MINUTE_MS = 60_000

_TIME = re.compile(r"\b(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\b")


class Clause(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of a summary.

    Attributes:
        about: `range`, `leaderless`, `addresses`, `unclean`, `end`, `replicas`, `brokers`,
            `restarts`, `controllers`, `listeners`, `changes`, `gap` or `tail`.
        is_bad: True if the statement says that something is wrong.
        from_offset, to_offset: Offsets of the first and last record that the statement is about;
            None: the first or last record of the summary's range.
    """

    about: str
    text: str
    is_bad: bool = False
    from_offset: int | None = None
    to_offset: int | None = None


class Clock(NamedTuple):
    """Formats times in UTC, to the second.

    Attributes:
        day: The day of the range, such as 2026-01-31; None if it has several days.
    """

    day: str | None

    @classmethod
    def of(cls, times: Iterable[int | None]) -> "Clock":
        """Return the clock of a range, given times of its first and its last record."""
        days = {time_text(each)[:10] for each in times if each is not None}
        return cls(days.pop() if len(days) == 1 else None)

    def text(self, time_ms: int) -> str:
        """Return a time as text."""
        found = time_text(time_ms)
        return f"{found[:10]} {found[11:19]}" if found.endswith("Z") else found

    def since(self, time_ms: int | None) -> str:
        """Return the time at which something began, which may be before the kept history."""
        return "before the kept history" if time_ms is None else self.text(time_ms)

    def shortened(self, texts: Sequence[str]) -> list[str]:
        """Return texts without the days of times that are on the day of the time before in the
        same text, or on the range's only day; if all are on one day, only the first has it.
        """
        days = {time[1] for text in texts for time in _TIME.finditer(text)}
        found: list[str] = []
        day = self.day

        def replaced(time: re.Match[str]) -> str:
            nonlocal day
            is_same, day = time[1] == day, time[1]
            return time[2] if is_same else time[0]

        for text in texts:
            found.append(_TIME.sub(replaced, text))
            if len(days) > 1:
                day = self.day
        return found


class Scope(NamedTuple):
    """What the clauses are about.

    Attributes:
        first: The range's first offset.
        whole_ms: Time from the range's first to its last record, ms; None if it is not known.
        is_silent_when_idle: True if the whole log was read, and has no NoOps.
        end: What the range ends with, in words.
    """

    found: Overview
    clock: Clock
    first: int
    whole_ms: int | None
    is_silent_when_idle: bool
    end: str


def is_shut_down(found: Overview) -> bool:
    """True if at the end all brokers are in or after a controlled shutdown."""
    return 0 < found.brokers == found.shut_down


def counted(count: int, what: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def lasted(duration_ms: int) -> str:
    """Return a duration, from 10 s on in whole seconds, such as `9.3 s` and `17 s`."""
    if 1_000 <= duration_ms < _MINUTE_MS:
        duration_ms = round(duration_ms, -3 if duration_ms >= 9_950 else -2)
    return duration_text(duration_ms)


def lasted_between(least_ms: int, most_ms: int) -> str:
    """Return a duration that is not exactly known, such as `10 to 27 s`."""
    least, most = lasted(least_ms), lasted(most_ms)
    if least == most:
        return most
    is_seconds = max(least_ms, most_ms) < _MINUTE_MS - 500
    return f"{least.removesuffix(' s') if is_seconds else least} to {most}"


def often(count: int) -> str:
    """Return how often something happened."""
    return "once" if count == 1 else f"{count:,} times"


def listed(texts: Sequence[object]) -> str:
    """Return texts in a row, such as "1, 2 and 3"."""
    *before, last = map(str, texts)
    return f"{', '.join(before)} and {last}" if before else last


def node_names(nodes: Sequence[int], *, is_broker: bool, is_all: bool) -> str:
    """Return nodes in words, such as "all 3 brokers" or "controller 2"."""
    if is_all:
        return "the only broker" if len(nodes) == 1 else f"all {len(nodes):,} brokers"
    kind = "broker" if is_broker else "controller"
    return f"{kind}{'' if len(nodes) == 1 else 's'} {listed(nodes)}"
