"""Mirrors of real logs answer the same with NoOps kept and collapsed."""

import contextlib
import functools
import re
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import pytest

from metadata_log.format.checkpoint import CheckpointRecord
from metadata_log.kraft.directory import KraftDirectory, open_directory
from metadata_log.kraft.gathered_batches import Gathering
from metadata_log.kraft.importer import import_directory
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.mirror import MirrorBuilder
from records.control import NoOpRecord, NoOpRunRecord
from records.errors import UnknownHistoryError
from records.text import time_text
from replay.image.digest import image_digest
from replay.loader import load_image
from replay.report.report import _times
from replay.time_travel.points import resolve_first
from replay.timeline import Timeline
from tests.api.conftest import Metalog
from tests.api.questions.asked import ASKED, AT_POINTS
from tests.real_logs import (
    DataSet,
    cleaned_data_sets,
    data_sets,
    each_data_set_where,
    is_not_needed,
)
from tests.samples import cases, sampled

SECONDS_MAX = cases(400, 20)
"""Of a log's seconds, spread over it; a log can be a day long."""

POINTS_A_LINE = cases(1_000, 2)
"""At how many points of a log a command line is asked: each line at others, so together at all."""


class EarlierImport(DataSet, frozen=True):
    """A log in a mirror of an earlier release, in which a run of NoOps may begin before the kept
    history.
    """

    def __str__(self) -> str:
        return f"{super().__str__()}/earlier"


def import_as_earlier(source: KraftDirectory, log: Path, confirmed_end: int) -> None:
    """Import a cleaned log with NoOps collapsed, as an earlier release did."""
    base = source.base_checkpoint
    assert base is not None
    with MirrorBuilder(log, source.cluster_id or "unknown") as mirror:
        mirror.write_base(
            (CheckpointRecord(r.payload, r.record_version) for rows in base.rows() for r in rows),
            end_offset=base.end_offset,
            leader_epoch=base.leader_epoch,
            timestamp=base.timestamp,
        )
        gathering = Gathering(mirror.append, collapse_noops=True)
        for batch in source.batches():
            gathering.add(batch)
        gathering.flush()
        mirror.finish(confirmed_end)


@functools.cache
def histories() -> tuple[DataSet, ...]:
    """Return the logs, whole and cleaned."""
    earlier = [EarlierImport(**msgspec.structs.asdict(each)) for each in cleaned_data_sets()]
    return (*data_sets(), *cleaned_data_sets(), *earlier)


@functools.cache
def _smallest_cleaned() -> tuple[str, ...]:
    """Return the names of the two smallest logs with a checkpoint."""
    by_size = sorted(cleaned_data_sets(), key=lambda each: sum(s.size for s in each.segments))
    return tuple(each.name for each in by_size[:2])


def _is_heavy(data_set: DataSet) -> bool:
    return data_set.is_copy or (data_set.is_cleaned and data_set.name not in _smallest_cleaned())


def _is_heavy_to_ask(data_set: DataSet) -> bool:
    # The smallest cleaned one is asked about cleaned, now and as it was imported earlier.
    is_cleaned_one = data_set.name == _smallest_cleaned()[0]
    return not is_cleaned_one if data_set.is_cleaned else is_cleaned_one or is_not_needed(data_set)


each_history = each_data_set_where(lambda _: True, is_heavy=_is_heavy, of=histories)
each_history_to_ask = each_data_set_where(lambda _: True, is_heavy=_is_heavy_to_ask, of=histories)

_OF_NOOPS = {
    "segments",
    "clock_difference_ms",
    "as_of_timestamp",
    "as_of_timestamp_max",
    "bytes",
    "mark",
    "sequence",
    "file",
    "records",
    "opens",
    "first",
    "endOffset",
}
"""Fields that name or count NoOps, the mirror's file or its size, or this machine's time; and the
times of offsets, which are compared by themselves.
"""


class Run(NamedTuple):
    """A run of NoOps: its first offset, its first and last times in ms, and its number of NoOps."""

    offset: int
    first_ms: int
    last_ms: int
    length: int


class Mirrors:
    """A node's log imported twice."""

    def __init__(self, folder: Path, stack: ExitStack, *, is_earlier: bool) -> None:
        self.folder, self.is_earlier = folder, is_earlier
        self.kept = stack.enter_context(LogReader.open(folder / "kept"))
        self.collapsed = stack.enter_context(LogReader.open(folder / "collapsed"))
        self.changes = [
            row.offset
            for batch in self.kept.batches()
            for row in batch.rows
            if not isinstance(row.payload, NoOpRecord)
        ]

    @functools.cached_property
    def runs(self) -> list[Run]:
        """The runs in the kept history of more than two NoOps, in which times are not kept."""
        return [
            Run(row.offset, row.timestamp, run.last_timestamp, run.count)
            for batch in self.collapsed.batches()
            if batch.end_offset > self.collapsed.history_start
            for row in batch.rows[-1:]
            if isinstance(run := row.payload, NoOpRunRecord) and run.count > 2
        ]

    @functools.cached_property
    def partition(self) -> str:
        """The name of a partition at the end."""
        image = Timeline.of(self.kept).image(self.kept.end_offset - 1)
        for topic in image.topics():
            return f"partition:{image.full_name(topic)}/0"
        return "partition:none/0"

    @property
    def first_ms(self) -> int:
        """The first time that is known."""
        if self.kept.base:
            return self.kept.base.timestamp
        return next(self.kept.batches()).timestamp

    def just_after(self, offset: int) -> str:
        """Return a time shortly after a record: the source may have slept for hours elsewhere."""
        return time_text(next(self.kept.batches(offset)).timestamp + 1)

    @functools.cached_property
    def seconds(self) -> list[int]:
        """Times from the first to after the last record."""
        end = (self.kept.latest_timestamp() or 0) + 2_000
        whole = range(-(-self.first_ms // 1_000) * 1_000, end, 1_000)
        return list(whole[:: len(whole) // SECONDS_MAX + 1])


@pytest.fixture(scope="module")
def mirrors(data_set: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrors]:
    folder = tmp_path_factory.mktemp("mirrors")
    source = open_directory(data_set.materialise(folder / "source"))
    import_directory(source, folder / "kept", collapse_noops=False)
    is_earlier = isinstance(data_set, EarlierImport)
    if is_earlier:
        with LogReader.open(folder / "kept") as kept:
            import_as_earlier(source, folder / "collapsed", kept.confirmed_end)
    else:
        import_directory(source, folder / "collapsed")
    with ExitStack() as stack:
        yield Mirrors(folder, stack, is_earlier=is_earlier)


@each_history
def test_a_run_begins_before_the_history_only_in_an_earlier_import(mirrors: Mirrors) -> None:
    start = mirrors.collapsed.history_start
    is_reached = any(run.offset < start < run.offset + run.length for run in mirrors.runs)
    assert is_reached == mirrors.is_earlier


@each_history
def test_log_ends_at_the_same_time(mirrors: Mirrors) -> None:
    kept, collapsed = mirrors.kept, mirrors.collapsed
    assert collapsed.end_timestamp() == kept.end_timestamp()
    assert collapsed.latest_timestamp() == kept.latest_timestamp()
    first, last = kept.start_offset, kept.end_offset - 1
    assert _times(collapsed, first, last) == _times(kept, first, last)


@each_history
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


@sampled
@each_history
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


@sampled
@each_history
def test_images_of_points_in_time_are_the_same(mirrors: Mirrors) -> None:
    for second in mirrors.seconds[:: len(mirrors.seconds) // 5 + 1]:
        images = [
            load_image(log, log.last_offset_at(second)) for log in (mirrors.kept, mirrors.collapsed)
        ]
        assert image_digest(images[0]) == image_digest(images[1]), time_text(second)


LINES = {name: of for name, of in AT_POINTS.items() if ASKED[name].noops is None}
"""Command lines that ask each question about a mirror whose answer does not depend on NoOps."""

EXPORTS = ("checkpoint", "commands")
"""Forms of an export; segments are those of the source, which has all NoOps."""


def points(mirrors: Mirrors) -> dict[str, str]:
    """Return points by what they are: times at the beginning of a cleaned log, spread over the log,
    and inside runs of NoOps; and offsets of records that are no NoOps.
    """
    changes, found = mirrors.changes, {}
    if mirrors.kept.base:
        # A run that began before does not tell when its first kept NoOp was written.
        first = 1 if mirrors.is_earlier else 0
        found = {
            f"{n} s after the base": time_text(mirrors.first_ms + n * 1_000)
            for n in range(first, 3)
        }
    start, end = mirrors.kept.history_start, mirrors.kept.end_offset
    found |= {f"{n}/5": mirrors.just_after(start + n * (end - 1 - start) // 5) for n in range(6)}
    if runs := mirrors.runs:
        # The last run is at the log's end, as a rule.
        chosen = {"run": max(runs, key=lambda run: run.length), "last run": runs[-1]}
        for name, run in chosen.items():
            middle = (max(run.offset, start) + run.offset + run.length) // 2
            found[f"in a {name}"] = mirrors.just_after(middle)
    known = [offset for offset in changes if offset >= mirrors.collapsed.history_start]
    found |= {f"offset {n}/3": str(known[n * (len(known) - 1) // 3]) for n in range(4) if known}
    return found


class Told(NamedTuple):
    """The exit code, the answer without what is of NoOps, and the errors.

    `times` are the earliest and the latest possible time, in ms, of the answer's offset, and of the
    first and the last record if they are in the answer, by name.
    """

    code: int
    answer: Any
    errors: str
    times: Mapping[str, tuple[int, int]] = MappingProxyType({})


def told(mirrors: Mirrors, metalog: Metalog, arguments: list[str]) -> Told:
    answer = metalog(*arguments, "--json")
    if answer.code > 1:
        # Its message may say which offset is the last at a time.
        return Told(answer.code, answer.error["code"], "")
    found = answer.lines_or_json if answer.out else []
    times: dict[str, tuple[int, int]] = {}
    if isinstance(found, dict):
        for name in ("as_of", "from"):
            if isinstance(found.get(name), int):
                found[name] = f"after {bisect_right(mirrors.changes, found[name])} changes"
        for name in ("as_of_timestamp", "from_time", "to_time"):
            if earliest := found.pop(name, None):
                times[name] = earliest, found.pop(f"{name}_max", earliest)
    return Told(answer.code, _without_noops(found), answer.err, times)


def check_same(kept: Told, collapsed: Told, where: str) -> None:
    assert collapsed[:3] == kept[:3], where
    assert collapsed.times.keys() == kept.times.keys(), where
    for name, (begin, end) in collapsed.times.items():
        time, latest = kept.times[name]
        assert begin <= time == latest <= end, f"{name} of {where}"


def _chosen(line: int, count: int) -> list[int]:
    """Return the points of `count` at which a command line is asked, by its number."""
    chosen = min(count, POINTS_A_LINE)
    return sorted({(line + n * count // chosen) % count for n in range(chosen)})


@sampled
@each_history_to_ask
def test_every_question_has_the_same_answer(
    mirrors: Mirrors, metalog: Metalog, tmp_path: Path
) -> None:
    at = list(points(mirrors).items())
    partition = mirrors.partition
    topic = partition.replace("partition", "topic").rpartition("/")[0]
    codes: dict[str, set[int]] = {}
    lines = [(name, words) for name, of in LINES.items() for words in of]
    for number, (name, words) in enumerate(lines):
        for n in _chosen(number, len(at)):
            place, to = at[n]
            from_ = at[max(n - 2, 0)][1] if n else "start"
            kept, collapsed = (
                told(
                    mirrors,
                    metalog,
                    [
                        {
                            "LOG": str(log),
                            "FILE": str(tmp_path / f"{log.name}.html"),
                            "PARTITION": partition,
                            "TOPIC": topic,
                            "NAME": topic.removeprefix("topic:"),
                            "FROM": from_,
                            "TO": to,
                        }.get(word, word)
                        for word in words
                    ],
                )
                for log in (mirrors.folder / "kept", mirrors.folder / "collapsed")
            )
            check_same(kept, collapsed, f"{' '.join(words)}: from {from_} to {to}, {place}")
            codes.setdefault(name, set()).add(kept.code)
    # Wrong usage would be the same answer, too.
    assert not [name for name, found in codes.items() if 2 in found]
    assert len([name for name, found in codes.items() if found & {0, 1}]) > len(LINES) - 5


@each_history_to_ask
def test_range_of_times_inside_a_run_has_its_records_and_a_reversed_one_is_refused(
    mirrors: Mirrors, metalog: Metalog, tmp_path: Path
) -> None:
    run = max(mirrors.runs, key=lambda run: run.length, default=None)
    if run is None:
        pytest.skip("no run of NoOps")
    first = max(run.offset, mirrors.kept.history_start)
    third = (run.offset + run.length - first) // 3
    early, late = mirrors.just_after(first + third), mirrors.just_after(first + 2 * third)
    for name in ("kept", "collapsed"):
        log, page = mirrors.folder / name, tmp_path / f"{name}.html"
        assert metalog("report", log, page, "--from", early, "--to", late).code == 0
        refused = metalog("report", log, page, "--from", late, "--to", early)
        assert (refused.code, "exchange the two points" in refused.err) == (3, True)


@sampled
@each_history_to_ask
def test_every_export_is_the_same(mirrors: Mirrors, metalog: Metalog, tmp_path: Path) -> None:
    codes = set()
    at = list(points(mirrors).items())
    for place, to in at[1 :: len(at) // cases(len(at), 4)]:
        for form in EXPORTS:
            folder = tmp_path / f"{form} at {place.replace('/', ' of ')}"
            folder.mkdir()
            kept, collapsed = (
                _exported(metalog, mirrors.folder / name, folder / name, form, to)
                for name in ("kept", "collapsed")
            )
            assert collapsed == kept, f"{form} at {to}"
            codes.add(kept[0])
    assert 0 in codes


def _exported(
    metalog: Metalog, log: Path, out: Path, form: str, at: str
) -> tuple[int, dict[str, Any] | str]:
    """Return the exit code of an export, and the exported state: inside a run of NoOps, the same
    state has different offsets.
    """
    answer = metalog("export", "kraft", log, out, "--as", form, "--at", at)
    if answer.code:
        return answer.code, answer.err
    if form == "commands":
        return 0, re.sub(r"as of offset \d+", "as of an offset", out.read_text())
    again = out.with_suffix(".again")
    assert metalog("import", "kraft", out, again).code == 0
    image: dict[str, Any] = _without_noops(metalog("image", again, "--json").json)
    for name in ("as_of", "history_start", "log_end"):
        del image[name]
    return 0, image


@each_history
def test_tables_in_sql_are_the_same(mirrors: Mirrors, metalog: Metalog, tmp_path: Path) -> None:
    found = []
    for name in ("kept", "collapsed"):
        database = tmp_path / f"{name}.db"
        url = f"sqlite:///{database}"
        assert metalog("sql", "sync", mirrors.folder / name, "--database", url).code == 0
        with contextlib.closing(sqlite3.connect(database)) as tables:
            names = tables.execute(
                "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name"
            ).fetchall()
            found.append({of: sorted(map(repr, _rows(tables, of))) for (of,) in names})
    kept, collapsed = found
    start, end = mirrors.kept.history_start, mirrors.kept.confirmed_end
    assert kept["change"] or not any(start <= offset < end for offset in mirrors.changes)
    # Inside a run of NoOps, the time at which what Kafka has confirmed ends is not kept.
    is_inside = any(run.offset < end < run.offset + run.length for run in mirrors.runs)
    for name, rows in kept.items():
        if not is_inside or name not in ("history_position", "outages"):
            assert collapsed[name] == rows, name


def _rows(tables: sqlite3.Connection, name: str) -> Iterator[dict[str, Any]]:
    cursor = tables.execute(f"SELECT * FROM {name}")
    columns = [of[0] for of in cursor.description]
    for row in cursor:
        yield {k: v for k, v in zip(columns, row, strict=True) if k != "last_crc32c"}


@each_history
def test_mark_and_headers_have_the_last_time(mirrors: Mirrors) -> None:
    assert mirrors.collapsed.mark.max_timestamp == mirrors.kept.mark.max_timestamp


def _without_noops(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_without_noops(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    return {name: _without_noops(each) for name, each in answer.items() if name not in _OF_NOOPS}


@each_history
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
