"""Ranges without records: answers must not look like good news there."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from api.questions.parts import Stretch, about_across
from records.text import time_text
from replay.about import About

AboutT = TypeVar("AboutT", bound=About)


def without_records(parts: Sequence[Stretch]) -> str | None:
    """Return why a range has no records, in words; None if it has any, or a gap."""
    newest = parts[-1]
    if parts[0].first <= newest.at or newest.before is not None:
        return None
    reader = newest.past.reader
    start, end = reader.history_start, reader.end_offset
    if start == end:
        if start:
            return f"the log holds no records: only the state at offset {start - 1:,} is known"
        return "the log is empty"
    if newest.at < start:
        begin, _ = newest.past.times_at(start)
        return f"no records in this range: the log begins at {_time(begin)}"
    if newest.first >= end:
        return f"no records in this range: the log ends at {_time(reader.end_timestamp())}"
    return "no records in this range"


def about_range(parts: Sequence[Stretch], about: AboutT) -> AboutT:
    """Return the position of an answer about a range, which says if the range has no records."""
    why = without_records(parts)
    about = about_across(about)
    return about if why is None else msgspec.structs.replace(about, no_records=why)


def _time(time_ms: int | None) -> str:
    return "an unknown time" if time_ms is None else time_text(time_ms)
