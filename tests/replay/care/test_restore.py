"""`restore` recreates the log as of any offset; replay proves that it is equal."""

import asyncio
import random
from pathlib import Path

import pytest

from metadata_log.care.archive import archive
from metadata_log.care.backup import back_up
from metadata_log.care.inspection import inspect_log
from metadata_log.care.restore import RESTORED_EPOCH_GAP, RestoreResult, Splice, restore
from metadata_log.files.fs import OsFs
from metadata_log.files.names import segment_name
from metadata_log.format.commit_mark import read_mark
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.store import DirectoryStore, open_store
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.mirror import MirrorBuilder
from records.errors import CorruptLogError, RequestError, UnknownHistoryError
from replay.care.proof import Proof, check_equal, prove
from replay.care.retain import retain
from replay.image.digest import image_digest
from replay.image.metadata import MetadataImage
from replay.loader import load_image
from tests.histories import random_history
from tests.metadata_log.care.conftest import flip
from tests.metadata_log.conftest import topics
from tests.own_logs import content, write_history


def restored(source: Path, target: Path, at: int, tail: Path | None = None) -> RestoreResult:
    splice = Splice(
        copy_fs=OsFs(),
        copy=LogReader.open(source),
        tail_fs=OsFs() if tail else None,
        tail=LogReader.open(tail) if tail else None,
    )
    expected = prove(splice.source_of(at), at)
    return restore(splice, target, at + 1, check=lambda made: check_equal(expected, made))


def digest_at(log: Path, at: int | None = None) -> str:
    with LogReader.open(log) as reader:
        return image_digest(load_image(reader, at))


def test_log_restored_at_any_offset_has_the_image_of_that_offset(log: Path, tmp_path: Path) -> None:
    before = content(log)
    with LogReader.open(log) as reader:
        whole = list(reader.batches())
        end = reader.end_offset
    rng = random.Random(1)
    for at in sorted({-1, 0, end - 1, *rng.sample(range(end), 40)}):
        target = tmp_path / f"at-{at}"
        result = restored(log, target, at)
        assert digest_at(target) == digest_at(log, at), at
        assert inspect_log(OsFs(), target).damage == [], at
        with LogReader.open(target) as reader:
            kept = list(reader.batches())
            assert reader.end_offset == at + 1
        inside = [b for b in whole if b.base_offset <= at < b.end_offset - 1]
        cut = (inside[0].base_offset, inside[0].end_offset) if inside else None
        assert result.cut_batch == cut
        rows = [row.payload for batch in kept for row in batch.rows]
        assert rows == [row.payload for batch in whole for row in batch.rows][: at + 1]
    assert content(log) == before


def test_log_restored_inside_a_transaction_keeps_it_open(log: Path, tmp_path: Path) -> None:
    with LogReader.open(log) as reader:
        opened = [
            at
            for at in range(reader.end_offset)
            if load_image(reader, at).provenance.pending_transaction is not None
        ]
    at = opened[len(opened) // 2]
    restored(log, tmp_path / "copy", at)
    with LogReader.open(tmp_path / "copy") as reader, LogReader.open(log) as source:
        pending = load_image(reader).provenance.pending_transaction
        assert pending == load_image(source, at).provenance.pending_transaction is not None


@pytest.mark.parametrize("seed", range(3))
def test_mirror_stays_a_mirror_and_is_cut_before_a_run_of_noops(tmp_path: Path, seed: int) -> None:
    history = random_history(random.Random(seed), 60)
    with MirrorBuilder(tmp_path / "log", "kafka-cluster") as builder:
        for batch in history:
            builder.append(batch.rows, batch.end_offset)
        builder.finish(history[30].end_offset)
    end = history[-1].end_offset
    for at in random.Random(seed).sample(range(end), 15):
        target = tmp_path / f"at-{at}"
        result = restored(tmp_path / "log", target, at)
        assert digest_at(target) == digest_at(tmp_path / "log", at)
        assert result.writer_epoch is None
        with LogReader.open(target) as reader:
            assert reader.kind == "mirror"
            assert reader.end_offset <= at + 1
            assert reader.confirmed_end == min(history[30].end_offset, reader.end_offset)


async def test_writer_of_a_restored_log_starts_above_every_epoch_of_the_old_one(
    log: Path, tmp_path: Path
) -> None:
    newest = read_mark(OsFs(), log).leader_epoch
    result = restored(log, tmp_path / "copy", 20)
    writer = await MetadataLog.open(tmp_path / "copy")
    assert writer.leader_epoch == result.writer_epoch == newest + RESTORED_EPOCH_GAP + 1
    await writer.append(topics(1, 1))
    await writer.close()
    assert inspect_log(OsFs(), tmp_path / "copy").damage == []


async def test_restored_log_that_went_on_is_not_mixed_with_the_old_one(
    log: Path, tmp_path: Path
) -> None:
    store = DirectoryStore(OsFs(), tmp_path / "backup")
    with LogReader.open(log) as reader:
        back_up(OsFs(), reader, store)
    restored(store.directory, tmp_path / "copy", 20)
    writer = await MetadataLog.open(tmp_path / "copy")
    for n in range(400):
        await writer.append(topics(n, 1))
    await writer.close()
    with (
        LogReader.open(tmp_path / "copy") as reader,
        pytest.raises(RequestError, match="not an earlier state"),
    ):
        back_up(OsFs(), reader, store)


def test_archive_and_live_log_together_give_the_whole_history(
    log: Path, tmp_path: Path, s3_place: str
) -> None:
    whole = digest_at(log)
    with LogReader.open(log) as reader:
        bases = [int(path.stem) for path in reader.segment_paths]
        all_batches = list(reader.batches())
        archive(OsFs(), reader, open_store(s3_place), s3_place)
    retain(log, bases[2], check_dropped=lambda segments: None)
    asyncio.run(write_history(log, seed=77, batches=0, create=False))
    store = open_store(s3_place)
    splice = Splice(
        copy_fs=store.fs,
        copy=LogReader.open(store.directory, fs=store.fs),
        tail_fs=OsFs(),
        tail=LogReader.open(log),
    )
    end = splice.newest.end_offset
    expected = prove(splice.source_of(end - 1), end - 1)
    restore(splice, tmp_path / "full", end, check=lambda made: check_equal(expected, made))
    assert expected.digest == digest_at(tmp_path / "full") == whole
    with LogReader.open(tmp_path / "full") as reader:
        assert reader.history_start == 0
        assert list(reader.batches()) == all_batches
    # The archive alone holds what was dropped.
    alone = Splice(copy_fs=store.fs, copy=LogReader.open(store.directory, fs=store.fs))
    restore(alone, tmp_path / "old", bases[1], check=lambda made: None)
    assert digest_at(tmp_path / "old") == digest_at(tmp_path / "full", bases[1] - 1)


def test_damage_in_an_archive_is_named_where_it_is_also_when_a_tail_goes_on(
    log: Path, tmp_path: Path
) -> None:
    store = DirectoryStore(OsFs(), tmp_path / "archive")
    with LogReader.open(log) as reader:
        bases = [int(path.stem) for path in reader.segment_paths]
        end = reader.end_offset
        archive(OsFs(), reader, store, str(store.directory))
    retain(log, bases[2], check_dropped=lambda segments: None)
    damaged = store.directory / segment_name(bases[1])
    flip(damaged, damaged.stat().st_size - 40)
    with pytest.raises(CorruptLogError, match=f"{damaged} byte"):
        restored(store.directory, tmp_path / "copy", end - 1, tail=log)


def test_log_appears_where_a_symbolic_link_points_to(log: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    for name, target in (("made", tmp_path / "disk"), ("missing", tmp_path / "new")):
        (tmp_path / name).symlink_to(target)
        restored(log, tmp_path / name, 30)
        assert (tmp_path / name).is_symlink()
        assert digest_at(target) == digest_at(log, 30)


def test_tail_of_another_log_is_refused(log: Path, tmp_path: Path) -> None:
    store = DirectoryStore(OsFs(), tmp_path / "archive")
    with LogReader.open(log) as reader:
        archive(OsFs(), reader, store, str(store.directory))
    other = asyncio.run(write_history(tmp_path / "other", seed=6, batches=60))
    with pytest.raises(RequestError, match="not an earlier state"):
        restored(store.directory, tmp_path / "copy", 100, tail=other)
    assert not (tmp_path / "copy").exists()


def test_points_outside_the_history_are_refused(log: Path, tmp_path: Path) -> None:
    with LogReader.open(log) as reader:
        bases, end = [int(path.stem) for path in reader.segment_paths], reader.end_offset
    retain(log, bases[2], check_dropped=lambda segments: None)
    with pytest.raises(UnknownHistoryError, match=f"history starts at {bases[2]}"):
        restored(log, tmp_path / "copy", bases[2] - 2)
    with pytest.raises(RequestError, match="past the end"):
        restored(log, tmp_path / "copy", end)
    result = restored(log, tmp_path / "copy", bases[2] - 1)
    assert (result.history_start, result.end_offset) == (bases[2], bases[2])
    assert digest_at(tmp_path / "copy") == digest_at(log, bases[2] - 1)


def test_copy_that_gives_another_image_never_appears(log: Path, tmp_path: Path) -> None:
    splice = Splice(copy_fs=OsFs(), copy=LogReader.open(log))
    wrong = Proof(as_of=9, digest=image_digest(MetadataImage.EMPTY), pending_transaction=None)
    with pytest.raises(CorruptLogError, match="has digest"):
        restore(splice, tmp_path / "copy", 60, check=lambda made: check_equal(wrong, made))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log"]


def test_what_a_killed_run_left_is_replaced(log: Path, tmp_path: Path) -> None:
    leftover = tmp_path / "copy.unfinished"
    leftover.mkdir()
    (leftover / "00000000000000000000.avro").write_bytes(b"half")
    restored(log, tmp_path / "copy", 30)
    assert not leftover.exists()
    assert digest_at(tmp_path / "copy") == digest_at(log, 30)
