"""Loading an image near a snapshot, as a service does at its start, compared with a replay."""

from pathlib import Path

from benchmarks.generated import generated_mirror
from benchmarks.harness import Result
from benchmarks.python_replay import compared
from metadata_log.reader.log_reader import LogReader
from replay.image.digest import image_digest
from replay.loader import load_image
from replay.snapshot.database import default_url
from replay.snapshot.store import SnapshotStore
from replay.snapshot_lifecycle import create_snapshot
from replay.timeline import Timeline

_RECORDS = 300_000
_DISTANCE = 1_000


def run(scratch: Path) -> list[Result]:
    """Load an image 1,000 offsets after a snapshot, in a log of 300,000 records."""
    log = generated_mirror(scratch, _RECORDS)
    with LogReader.open(log) as reader:
        at = reader.end_offset - 1
        with SnapshotStore.open(default_url(log), reader.cluster_id, upgrade=True) as store:
            create_snapshot(reader, store, at - _DISTANCE)
        # As every command does, and the service when it starts.
        timeline = Timeline.of(reader)
        assert image_digest(load_image(reader, at)) == image_digest(timeline.image(at))
        image = {f"image {_DISTANCE:,} after a snapshot": lambda: timeline.image(at)}
        return compared(reader, image, dict.fromkeys(image, 0.1), rounds=5)
