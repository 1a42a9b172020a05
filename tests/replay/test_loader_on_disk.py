"""Images of a log on disk, complete or cut to a base checkpoint."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from metadata_log.format.batch import Batch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.mirror import MirrorBuilder
from records.errors import UnknownHistoryError
from replay.care.base_records import base_records
from replay.image.metadata import MetadataImage
from replay.loader import BatchSource, images, load_image
from tests.histories import random_history
from tests.replay.builders import FakeLog


def _mirror(
    directory: Path, memory: FakeLog, log: Sequence[Batch], base: MetadataImage | None = None
) -> Path:
    with MirrorBuilder(directory, "cluster") as builder:
        if base is not None:
            builder.write_base(
                base_records(memory, base),
                end_offset=base.provenance.next_offset,
                leader_epoch=base.provenance.leader_epoch,
                timestamp=base.provenance.timestamp,
            )
        for batch in log:
            builder.append(batch.rows, batch.end_offset)
        builder.finish(0)
    return directory


@pytest.mark.parametrize("seed", range(5))
def test_log_on_disk_gives_the_images_of_the_log_in_memory(tmp_path: Path, seed: int) -> None:
    memory = FakeLog(random_history(random.Random(seed), 120))
    with LogReader.open(_mirror(tmp_path / "log", memory, memory.log)) as reader:
        source: BatchSource = reader
        for offset in random.Random(seed).sample(range(memory.end_offset), 15):
            assert load_image(source, offset) == load_image(memory, offset)
        assert load_image(source) == load_image(memory)


@pytest.mark.parametrize("seed", range(5))
def test_log_cut_to_a_base_checkpoint_gives_the_same_images(tmp_path: Path, seed: int) -> None:
    memory = FakeLog(random_history(random.Random(seed), 120))
    able = [
        image
        for _, image in images(memory, 0, memory.end_offset)
        if image.provenance.pending_transaction is None
    ]
    base = random.Random(seed).choice(able[:-1])
    start = base.provenance.next_offset
    kept = [batch for batch in memory.log if batch.base_offset >= start]
    with LogReader.open(_mirror(tmp_path / "log", memory, kept, base)) as reader:
        assert load_image(reader, start - 1) == base
        for offset in range(start, memory.end_offset, 7):
            assert load_image(reader, offset) == load_image(memory, offset)
        with pytest.raises(UnknownHistoryError):
            load_image(reader, start - 2)
