"""Runs demos and keeps their batches."""

import asyncio

import msgspec

from controller.demo.clock import SimulatedClock
from controller.demo.options import DemoOptions, DemoSummary, Progress
from controller.demo.simulation import demo_controller, demo_settings, run_demo
from metadata_log.format.batch import Batch, NewBatch
from records.envelope import Envelope
from replay.image.metadata import MetadataImage
from tests.controller.memory_log import MemoryLog


class DemoRun(msgspec.Struct, frozen=True):
    """The batches, summary and final image of a demo."""

    written: list[NewBatch]
    summary: DemoSummary
    image: MetadataImage

    def batches(self) -> list[Batch]:
        """Return the batches with the offsets at which they were written."""
        batches: list[Batch] = []
        offset = 0
        for new in self.written:
            assert new.record_versions is not None and new.timestamp is not None
            rows = [
                Envelope(
                    offset=offset + index,
                    leader_epoch=1,
                    timestamp=new.timestamp,
                    batch_offset=offset,
                    record_version=version,
                    origin=new.origin,
                    asked=new.asked if index == 0 else None,
                    payload=record,
                )
                for index, (record, version) in enumerate(
                    zip(new.records, new.record_versions, strict=True)
                )
            ]
            batches.append(Batch.of(rows))
            offset += len(rows)
        return batches


def run(options: DemoOptions, progress: Progress | None = None) -> DemoRun:
    """Run a demo on a log in memory."""

    async def demo() -> DemoRun:
        log, clock = MemoryLog(), SimulatedClock()
        controller = demo_controller(
            log,
            MetadataImage.EMPTY,
            clock=clock,
            options=options,
            settings=demo_settings(options, "demo"),
        )
        summary = await run_demo(controller, clock, options, progress)
        return DemoRun(log.batches, summary, controller.image)

    return asyncio.run(demo())
