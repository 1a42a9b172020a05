"""The ways to compute an image's digest. They agree, or one of them is wrong."""

from collections.abc import Callable

from metadata_log.log_reader import LogReader


def by_replay(reader: LogReader, at: int) -> str:
    """Replay the log from its start."""
    from api.cli.output import progress
    from replay.image.digest import image_digest
    from replay.timeline import Timeline

    with progress("replaying", reader.history_start, at + 1) as advance:
        # Without snapshots, because snapshots are compared with this result.
        return image_digest(Timeline(reader).image(at, progress=advance))


def by_snapshot(reader: LogReader, at: int) -> str:
    """Load the newest SQL snapshot at or below the point, and replay what comes after it."""
    from records.errors import RequestError
    from replay.image.digest import image_digest
    from replay.snapshot.database import default_url
    from replay.snapshot.store import SnapshotStore
    from replay.timeline import Timeline

    if reader.local_directory is None:
        raise RequestError(
            "SNAPSHOT_NOT_FOUND",
            f"{reader.directory} holds no snapshots; make a log of it with `metalog restore`, or "
            "say --by replay",
        )
    with SnapshotStore.open(default_url(reader.local_directory), reader.cluster_id) as store:
        timeline = Timeline(reader, store)
        start = timeline.newest_snapshot(at)
    # Replay alone would be no second computation; for an unknown offset it raises the error.
    if start is None and at >= reader.history_start - 1:
        raise RequestError(
            "SNAPSHOT_NOT_FOUND",
            f"there is no usable snapshot of this log at or below offset {at}; make one with "
            f"`metalog snapshot create {reader.directory} --at {at}`",
        )
    return image_digest(timeline.image(at, start=start))


def by_spark(reader: LogReader, at: int) -> str:
    """Compute state and digest in Spark alone."""
    from api.cli.spark import spark_and_files

    with spark_and_files(reader) as (spark, files):
        from replay.audit.digest import audit_digest
        from replay.audit.history import History

        with History(spark, files, at) as history:
            return audit_digest(history)


COMPUTED_BY: dict[str, Callable[[LogReader, int], str]] = {
    "replay": by_replay,
    "snapshot": by_snapshot,
    "spark": by_spark,
}
