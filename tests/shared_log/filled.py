"""A log as a shared log in memory, as `nodes create` makes it."""

from pathlib import Path

from metadata_log.care.shared_upload import groups_of
from metadata_log.files.fs import OsFs
from metadata_log.format.manifest import read_manifest
from metadata_log.reader.committed import committed_segments
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.identity import Identity
from metadata_log.shared.shared_log import EMPTY
from tests.shared_log.memory import MemoryStore


def fill(store: MemoryStore, log: Path) -> None:
    """Put a log into an empty store."""
    cluster_id, at = read_manifest(OsFs(), log).cluster_id, EMPTY
    store.identity = Identity(cluster_id=cluster_id, log_id="1")
    with LogReader.open(log) as reader:
        for segment in committed_segments(OsFs(), reader):
            for made in groups_of(segment, at):
                store.put(made, at)
                at = made.end
