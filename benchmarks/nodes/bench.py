"""All benches of nodes but `fail-over`, in one run."""

from pathlib import Path

from benchmarks.harness import Result
from benchmarks.nodes import bucket, held_snapshot, standby_lag, throughput


def run(scratch: Path, snapshot_seconds: float = held_snapshot.SECONDS) -> list[Result]:
    """Measure appends to PostgreSQL and to a bucket, and the lag of a standby.

    Args:
        snapshot_seconds: How long a snapshot is held.
    """
    directories = [scratch / str(number) for number in range(5)]
    for directory in directories:
        directory.mkdir()
    one, two, lag, snapshot, in_bucket = directories
    return [
        *throughput.one_server(one),
        *throughput.two_standbys(two),
        *standby_lag.run(lag),
        *held_snapshot.run(snapshot, snapshot_seconds),
        *bucket.run(in_bucket),
    ]
