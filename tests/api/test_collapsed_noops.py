"""Mirrors of real logs answer the same with NoOps kept and collapsed."""

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.log_reader import LogReader
from records.control import NoOpRecord, NoOpRunRecord
from records.errors import UnknownHistoryError
from records.text import time_text
from replay.image.digest import image_digest
from replay.loader import load_image
from replay.report.report import _times
from replay.time_travel.points import resolve_first
from tests.api.conftest import Metalog
from tests.real_logs import DataSet, each_data_set

SECONDS_MAX = 400
"""Of a log's seconds, spread over it; a log can be a day long."""

_OF_NOOPS = {
    "segments",
    "clock_difference_ms",
    "as_of",
    "from",
    "bytes",
    "mark",
    "as_of_timestamp",
    "as_of_timestamp_max",
    "sequence",
}
"""Fields that name an offset of a NoOp, the size of the mirror, or this machine's time."""


class Mirrors:
    """A node's log imported twice."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.kept = stack.enter_context(LogReader.open(folder / "kept"))
        self.collapsed = stack.enter_context(LogReader.open(folder / "collapsed"))
        self.changes = [
            row.offset
            for batch in self.kept.batches()
            for row in batch.rows
            if not isinstance(row.payload, NoOpRecord)
        ]

    @property
    def first_ms(self) -> int:
        """The first time that is known."""
        if self.kept.base:
            return self.kept.base.timestamp
        return next(self.kept.batches()).timestamp

    @functools.cached_property
    def seconds(self) -> list[int]:
        """Times from the first to after the last record."""
        end = (self.kept.latest_timestamp() or 0) + 2_000
        whole = range(-(-self.first_ms // 1_000) * 1_000, end, 1_000)
        return list(whole[:: len(whole) // SECONDS_MAX + 1])


@pytest.fixture(scope="module")
def mirrors(data_set: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrors]:
    folder = tmp_path_factory.mktemp("mirrors")
    source = data_set.materialise(folder / "source")
    for name in ("kept", "collapsed"):
        import_directory(open_directory(source), folder / name, collapse_noops=name == "collapsed")
    with ExitStack() as stack:
        yield Mirrors(folder, stack)


@each_data_set
def test_log_ends_at_the_same_time(mirrors: Mirrors) -> None:
    kept, collapsed = mirrors.kept, mirrors.collapsed
    assert collapsed.end_timestamp() == kept.end_timestamp()
    assert collapsed.latest_timestamp() == kept.latest_timestamp()
    first, last = kept.start_offset, kept.end_offset - 1
    assert _times(collapsed, first, last) == _times(kept, first, last)


@each_data_set
def test_every_offset_that_is_no_noop_has_its_time_and_the_others_a_range(mirrors: Mirrors) -> None:
    times = {r.offset: r.timestamp for b in mirrors.kept.batches() for r in b.rows}
    ranges = 0
    for batch in mirrors.collapsed.batches():
        for offset in range(batch.base_offset, batch.end_offset):
            earliest, latest = batch.times_at(offset)
            # A run may begin before the offsets that the other mirror holds.
            time = times.get(offset, earliest)
            assert min(earliest, latest) <= time <= max(earliest, latest), offset
            ranges += earliest != latest
        assert batch.times_at(batch.rows[0].offset) == (batch.timestamp, batch.timestamp)
    runs = [
        row.payload.count
        for batch in mirrors.collapsed.batches()
        for row in batch.rows
        if isinstance(row.payload, NoOpRunRecord)
    ]
    assert (ranges > 0) == any(count > 2 for count in runs)


@each_data_set
def test_every_second_is_the_same_state(mirrors: Mirrors) -> None:
    changes = mirrors.changes
    for second in mirrors.seconds:
        kept, collapsed = (log.last_offset_at(second) for log in (mirrors.kept, mirrors.collapsed))
        assert bisect_right(changes, collapsed) == bisect_right(changes, kept), time_text(second)
        assert mirrors.kept.history_start - 1 <= collapsed
        kept, collapsed = (
            resolve_first(log, time_text(second), 0) for log in (mirrors.kept, mirrors.collapsed)
        )
        assert bisect_left(changes, collapsed) == bisect_left(changes, kept), time_text(second)
    if mirrors.kept.base:
        for log in (mirrors.kept, mirrors.collapsed):
            with pytest.raises(UnknownHistoryError):
                log.last_offset_at(mirrors.first_ms - 1)


@each_data_set
def test_images_of_points_in_time_are_the_same(mirrors: Mirrors) -> None:
    for second in mirrors.seconds[:: len(mirrors.seconds) // 5 + 1]:
        images = [
            load_image(log, log.last_offset_at(second)) for log in (mirrors.kept, mirrors.collapsed)
        ]
        assert image_digest(images[0]) == image_digest(images[1]), time_text(second)


@each_data_set
@pytest.mark.parametrize(
    "command",
    [
        ["info", "{log}"],
        ["image", "{log}", "--at", "{early}"],
        ["image", "{log}", "--at", "{late}"],
        ["diff", "{log}", "{early}", "{late}"],
        ["timeline", "{log}", "--from", "{early}"],
        ["outages", "{log}"],
    ],
    ids=" ".join,
)
def test_commands_answer_the_same(mirrors: Mirrors, metalog: Metalog, command: list[str]) -> None:
    seconds = mirrors.seconds
    points = {
        "early": time_text(seconds[len(seconds) // 10]),
        "late": time_text(seconds[-len(seconds) // 10]),
    }
    kept, collapsed = (
        metalog(*(word.format(log=mirrors.folder / name, **points) for word in command), "--json")
        for name in ("kept", "collapsed")
    )
    assert (collapsed.code, collapsed.err) == (kept.code, kept.err)
    assert kept.code == 0
    assert _without_noops(collapsed.lines_or_json) == _without_noops(kept.lines_or_json)


def _without_noops(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_without_noops(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    return {name: _without_noops(each) for name, each in answer.items() if name not in _OF_NOOPS}


@each_data_set
def test_offset_inside_a_run_is_told_as_between_two_times(
    mirrors: Mirrors, metalog: Metalog
) -> None:
    for batch in mirrors.collapsed.batches():
        run = batch.rows[-1]
        if isinstance(run.payload, NoOpRunRecord) and run.payload.count > 2:
            inside = max(run.offset + 1, mirrors.collapsed.history_start)
            if inside < batch.end_offset - 1:
                break
    else:
        pytest.skip("no run of NoOps")
    log = mirrors.folder / "collapsed"
    answer = metalog("image", log, "--at", inside, "--json").json
    first, last = run.timestamp, run.payload.last_timestamp
    assert (answer["as_of_timestamp"], answer["as_of_timestamp_max"]) == (first, last)
    told = metalog("image", log, "--at", inside).out
    assert f"as of offset {inside}, between {time_text(first)} and {time_text(last)}" in told
