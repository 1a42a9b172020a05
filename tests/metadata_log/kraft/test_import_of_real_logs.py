"""Imports of real Kafka logs, compared with what other programs decoded and computed."""

import functools
import json
import random
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from metadata_log.format.batch import Batch
from metadata_log.format.manifest import Kind
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import ImportResult, import_directory
from metadata_log.reader.log_reader import LogReader
from records.control import LeaderChangeMessage, NoOpRecord, NoOpRunRecord, VotersRecord
from records.envelope import Envelope
from records.errors import UnknownHistoryError
from replay.image.delta import MetadataDelta
from replay.image.digest import image_digest
from replay.image.kraft_json import kraft_json
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.loader import load_image
from tests.real_logs import DataSet, each_data_set, each_data_set_where
from tests.replay.oracles import envelope


class Node:
    """The log of a node, decoded by another program and imported by us, each done once."""

    def __init__(self, data_set: DataSet, folder: Path) -> None:
        self._data_set, self._folder = data_set, folder

    @functools.cached_property
    def source(self) -> Path:
        return self._data_set.materialise(self._folder / "source")

    @functools.cached_property
    def oracle(self) -> list[Envelope]:
        segments = self._data_set.segments
        return [envelope(row) for segment in segments for row in segment.oracle()]

    @functools.cached_property
    def collapsed(self) -> ImportResult:
        return import_directory(open_directory(self.source), self._folder / "collapsed")

    @functools.cached_property
    def kept(self) -> ImportResult:
        source = open_directory(self.source)
        return import_directory(source, self._folder / "kept", collapse_noops=False)

    @functools.cached_property
    def kept_batches(self) -> list[Batch]:
        with self.open(collapsed=False) as reader:
            return list(reader.batches())

    def open(self, *, collapsed: bool = True) -> LogReader:
        """Open the mirror; tests must not change it."""
        assert self.collapsed if collapsed else self.kept
        return LogReader.open(self._folder / ("collapsed" if collapsed else "kept"))


@pytest.fixture(scope="module")
def node(data_set: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Node:
    return Node(data_set, tmp_path_factory.mktemp("node"))


def as_written(row: Envelope) -> Envelope:
    """Return a row without the fields that the log adds."""
    return Envelope(
        offset=row.offset,
        leader_epoch=row.leader_epoch,
        timestamp=row.timestamp,
        batch_offset=row.batch_offset,
        record_version=row.record_version,
        payload=row.payload,
    )


@each_data_set
def test_exact_import_equals_the_decoded_log(data_set: DataSet, node: Node) -> None:
    with node.open(collapsed=False) as reader:
        assert reader.kind is Kind.MIRROR
        assert reader.cluster_id == (data_set.cluster_id or "unknown")
    assert [as_written(row) for batch in node.kept_batches for row in batch.rows] == node.oracle


@each_data_set
def test_collapsed_import_loses_nothing_but_noops(data_set: DataSet, node: Node) -> None:
    with node.open() as reader:
        rows = [as_written(row) for batch in reader.batches() for row in batch.rows]
    oracle = node.oracle
    runs = [row.payload for row in rows if isinstance(row.payload, NoOpRunRecord)]
    kept = [row for row in rows if not isinstance(row.payload, NoOpRunRecord | NoOpRecord)]
    assert kept == [row for row in oracle if not isinstance(row.payload, NoOpRecord)]
    single = sum(isinstance(row.payload, NoOpRecord) for row in rows)
    noops = sum(isinstance(row.payload, NoOpRecord) for row in oracle)
    assert single + sum(run.count for run in runs) == noops


@each_data_set
def test_counts_reported_are_those_of_the_source(data_set: DataSet, node: Node) -> None:
    result, oracle = node.collapsed, node.oracle
    assert result.records == len(oracle)
    assert result.unknown_records == result.trailing_bytes == 0
    assert (result.first_offset, result.last_offset) == (oracle[0].offset, oracle[-1].offset)
    counts = {name: len(list(rows)) for name, rows in groupby(sorted(map(_type_name, oracle)))}
    assert result.by_type == counts
    newest = [int(checkpoint.name[:20]) for checkpoint in data_set.checkpoints]
    quorums = [
        len(row.payload.voters)
        for row in oracle
        if isinstance(row.payload, LeaderChangeMessage | VotersRecord)
    ]
    # A single voter commits all that it writes.
    of_one = [oracle[-1].offset + 1] if quorums and quorums[-1] == 1 else []
    assert result.committed_end_offset == max([*newest, *of_one], default=0)


def _type_name(row: Envelope) -> str:
    return type(row.payload).__name__


@each_data_set
def test_end_state_and_every_checkpoint_equal_the_replay(data_set: DataSet, node: Node) -> None:
    with node.open() as reader:
        if data_set.final_image_path is not None:
            expected = json.loads(data_set.final_image_path.read_text())
            assert json.loads(json.dumps(kraft_json(load_image(reader)))) == expected
        for checkpoint in open_directory(node.source).checkpoints:
            assert reader.confirmed_end >= checkpoint.end_offset
            delta = MetadataDelta(MetadataImage.EMPTY)
            for rows in checkpoint.rows():
                for row in rows:
                    delta.replay(row)
            loaded = delta.apply(Provenance(offset=checkpoint.end_offset - 1))
            assert kraft_json(loaded) == kraft_json(load_image(reader, checkpoint.end_offset - 1))


@each_data_set
def test_any_time_shows_the_same_state_with_noops_kept_and_collapsed(
    data_set: DataSet, node: Node
) -> None:
    """The image at any time is the same for both imports; times go back in several of these
    logs.
    """
    with node.open() as collapsed, node.open(collapsed=False) as kept:
        rng = random.Random(str(data_set))
        batches = node.kept_batches
        times = {
            batch.timestamp + shift
            for batch in rng.sample(batches, min(2, len(batches)))
            for shift in (-1, 0)
        }
        times |= {t for t in _around_steps_back(batches, rng) if t >= batches[0].timestamp}
        shown = {time: load_image(collapsed, collapsed.last_offset_at(time)) for time in times}
        # Each continues from the one before: replaying the heartbeats for each takes long.
        expected = None
        offsets = {time: kept.last_offset_at(time) for time in times}
        for time in sorted(times, key=lambda time: offsets[time]):
            expected = load_image(kept, offsets[time], start=expected)
            assert image_digest(shown[time]) == image_digest(expected), time


def _around_steps_back(batches: list[Batch], rng: random.Random) -> set[int]:
    steps = [
        time
        for before, after in pairwise(batches)
        if after.timestamp < before.timestamp
        for time in (
            before.timestamp - 1,
            after.timestamp,
            (before.timestamp + after.timestamp) // 2,
        )
    ]
    return set(rng.sample(steps, min(8, len(steps))))


@each_data_set_where(lambda data_set: bool(data_set.checkpoints))
def test_log_whose_head_was_cut_starts_at_the_oldest_checkpoint(
    data_set: DataSet, node: Node, tmp_path: Path
) -> None:
    source = open_directory(data_set.cleaned().materialise(tmp_path))
    checkpoint_end = source.checkpoints[0].end_offset
    import_directory(source, tmp_path / "cut")
    with node.open() as whole, LogReader.open(tmp_path / "cut") as reader:
        assert 0 < reader.start_offset == source.start_offset < checkpoint_end
        assert reader.history_start == checkpoint_end
        assert kraft_json(load_image(reader)) == kraft_json(load_image(whole))
        with pytest.raises(UnknownHistoryError, match=f"history starts at {checkpoint_end}"):
            load_image(reader, checkpoint_end - 2)
        first = load_image(reader, checkpoint_end - 1)
        assert kraft_json(first) == kraft_json(load_image(whole, checkpoint_end - 1))


@each_data_set_where(lambda data_set: bool(data_set.earlier_sizes))
def test_first_and_last_earlier_version_of_a_log_import_as_its_beginnings(
    data_set: DataSet, node: Node, tmp_path: Path
) -> None:
    with node.open() as reader:
        for size in data_set.earlier_sizes[:: max(len(data_set.earlier_sizes) - 1, 1)]:
            last = data_set.segments[-1].name
            directory = data_set.materialise(tmp_path / str(size), sizes={last: size})
            for checkpoint in (directory / "__cluster_metadata-0").glob("*.checkpoint"):
                checkpoint.unlink()
            log = tmp_path / f"log-{size}"
            result = import_directory(open_directory(directory), log)
            with LogReader.open(log) as earlier:
                assert image_digest(load_image(earlier)) == image_digest(
                    load_image(reader, result.last_offset)
                )
