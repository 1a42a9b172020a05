"""Readers see exactly the committed batches, not those that are still being written."""

import asyncio
from functools import partial
from pathlib import Path
from random import Random

from controller.controller import Controller
from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from metadata_log.format.batch import AppendResult, Batch, NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.clock import SystemClock
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from replay.image.metadata import MetadataImage
from replay.loader import images, load_image
from tests.controller.memory_log import MemoryLog
from tests.controller.office import Office


class _SteppedLog(MemoryLog):
    """Commits one batch at each `step` while `is_stepping` is set."""

    is_stepping = False

    def __init__(self) -> None:
        super().__init__()
        self._steps = asyncio.Semaphore(0)

    async def append(
        self, batch: NewBatch, *, expected_end_offset: int | None = None
    ) -> AppendResult:
        if self.is_stepping:
            await self._steps.acquire()
        return await super().append(batch, expected_end_offset=expected_end_offset)

    def step(self) -> None:
        self._steps.release()


async def _settled() -> None:
    """Let all tasks run until they wait."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_commit_shows_nothing_of_the_batches_behind_it() -> None:
    office = Office()
    log = office.log = _SteppedLog()
    office.controller = Controller(
        log,
        MetadataImage.EMPTY,
        clock=office.clock,
        rng=Random(1),
        settings=office.controller.settings,
    )
    await office.controller.activate()
    log.is_stepping = True
    names = ["a", "b", "c", "d"]
    answers = [office.namespace(name) for name in names]
    for count in range(len(names) + 1):
        await _settled()
        assert office.names() == names[:count]
        seen = office.controller.view.image.namespaces()
        assert sorted(namespace.name for namespace in seen) == names[:count]
        assert [answer.done() for answer in answers] == [n < count for n in range(len(names))]
        log.step()


async def test_each_commit_comes_with_the_image_that_replay_gives(tmp_path: Path) -> None:
    directory = tmp_path / "log"
    create_log(directory, "test")
    log = await MetadataLog.open(directory)
    shown: list[tuple[Batch, MetadataImage]] = []
    with LogReader.open(directory) as reader:
        start = load_image(reader)
    controller = Controller(
        log,
        start,
        clock=SystemClock(),
        rng=Random(1),
        on_commit=lambda decided: shown.append((decided.as_read, controller.image)),
    )
    await controller.activate()
    # All at once, so that many share a sync and are committed in one go.
    await asyncio.gather(
        *[
            controller.submit(partial(create_namespace, request=CreateNamespace(f"n{n}")))
            for n in range(100)
        ]
    )
    await log.close()
    with LogReader.open(directory) as reader:
        first = start.provenance.next_offset
        replayed = list(images(reader, first, reader.end_offset, start=start))
    assert len(shown) == len(replayed) > 100
    for (batch, image), (replayed_batch, replayed_image) in zip(shown, replayed, strict=True):
        assert batch.end_offset == replayed_batch.end_offset
        assert image == replayed_image
