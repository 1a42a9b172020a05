"""Creates the demo's log with the real controller over a simulated cluster."""

import hashlib
from pathlib import Path

from api.cli.terminal.progress_bar import progress
from api.documents.logs import Demo
from controller.asked.asked import asked_settings
from controller.demo.clock import SimulatedClock
from controller.demo.options import DemoOptions
from controller.demo.simulation import demo_controller, demo_settings, run_demo
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.text import uuid_text
from replay.image.metadata import MetadataImage
from replay.timeline import Timeline

# Shorter logs are replayed sooner than a snapshot is loaded.
_SNAPSHOT_FROM = 10_000


async def write_demo(directory: Path, options: DemoOptions) -> Demo:
    """Create the log at `directory`, and return a summary.

    The same options give the same bytes, because ids, times and choices are all derived from the
    seed. A long log ends with a snapshot, as a service makes them.
    """
    cluster_id = uuid_text(hashlib.sha256(f"demo {options.seed}".encode()).digest()[:16])
    create_log(directory, cluster_id)
    clock = SimulatedClock()
    settings = demo_settings(options, cluster_id)
    log = await MetadataLog.open(
        directory, clock=clock, sync_mark_in_time=False, asked=asked_settings(settings)
    )
    try:
        with LogReader.open(directory) as reader:
            image: MetadataImage = Timeline.of(reader).image()
        controller = demo_controller(log, image, clock=clock, options=options, settings=settings)
        with progress("simulating", 0, options.changes) as advance:
            summary = await run_demo(controller, clock, options, lambda done, _total: advance(done))
    finally:
        await log.close()
    if summary.end_offset >= _SNAPSHOT_FROM:
        _make_snapshot(directory, cluster_id, clock)
    return Demo(
        log=str(directory),
        cluster_id=cluster_id,
        log_end=summary.end_offset,
        start_timestamp=summary.start_ms,
        end_timestamp=summary.end_ms,
        changes=summary.changes,
    )


def _make_snapshot(directory: Path, cluster_id: str, clock: SimulatedClock) -> None:
    # Importing SQLAlchemy takes longer than a short demo.
    from replay.snapshot.database import default_url
    from replay.snapshot.store import SnapshotStore
    from replay.snapshot_lifecycle import create_snapshot

    url = default_url(directory)
    with (
        LogReader.open(directory) as reader,
        SnapshotStore.open(url, cluster_id, upgrade=True, clock=clock) as store,
    ):
        create_snapshot(reader, store, rotated=True)
