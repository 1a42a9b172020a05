"""Recording: keeps a mirror up to date with its source, while Kafka writes to the source.

Each step reads the batches after the last batch read, if the source still has that batch. If not,
because Kafka truncated or cleaned its log, the two logs are compared (reconcile.py). The source is
only read, and nothing is locked there. New batches are gathered before they are written
(gathered_batches.py); a crash may lose them, but the source still has them.
"""

import time
from collections.abc import Callable
from pathlib import Path

from metadata_log.kraft.contested_keys import ContestedKeys
from metadata_log.kraft.continued_mirror import ContinuedMirror
from metadata_log.kraft.directory import KraftDirectory, open_directory
from metadata_log.kraft.gathered_batches import Gathering
from metadata_log.kraft.importer import UNKNOWN_CLUSTER_ID
from metadata_log.kraft.reconcile import confirmed_by, reconcile
from metadata_log.kraft.sole_voter import SoleVoter
from metadata_log.kraft_format.batch import LogPosition
from metadata_log.writer.mirror_writer import MirrorWriter
from records.errors import MetadataLogError, RequestError, UnavailableError


class Recorder(ContinuedMirror):
    """Brings a mirror up to date with its source, step by step."""

    def __init__(
        self,
        source: Path,
        log: Path,
        *,
        collapse_noops: bool = True,
        gather_ms: int = 0,
        may_replace_all: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open a mirror to continue it.

        Args:
            gather_ms: How long batches are gathered before they are written; 0 means until the end
                of the step that read them.
            may_replace_all: Allow a source that has no batch in common with the mirror, if none of
                the mirror's offsets is known to be committed, and replace the whole mirror.
            clock: Returns seconds.

        Raises the errors of `ContinuedMirror`.
        """
        super().__init__(log)
        self._path = source
        self._collapse_noops = collapse_noops
        self._position: LogPosition | None = None
        self._is_reconciled = False
        self._seen: object = None
        self._contested, self._sole = ContestedKeys(), SoleVoter()
        self._may_replace_all = may_replace_all
        self._gather_s = gather_ms / 1_000
        self._clock = clock
        self._gathering = self._new_gathering()
        self._committed_end = self.end_offset

    def step(self, progress: Callable[[int], None] | None = None) -> None:
        """Read all new records of the source; commit them, or gather them for a later commit.

        The first step always commits, so that a recorder that is killed repeatedly still makes
        progress.

        Args:
            progress: Called with the number of segment bytes read so far.

        Raises:
            UnavailableError: Kafka changed its files meanwhile, or a disk is full; try again.
            RequestError: the source is not the log that was imported, or no longer has the next
                records.
            CorruptLogError: the source or the mirror is damaged.
        """
        try:
            source = self._open_source()
            state = source.state()
            is_new, self._seen = state != self._seen, None
            is_first = is_new and not self._is_reconciled
            if is_first:
                self._reconcile(source)
            if is_new and self.source_end is None:
                self._read(source, progress)
            if is_first or self._gathering.age_s >= self._gather_s:
                self._gathering.flush()
            if self._commit() or is_new:
                self._confirm(source)
            self._seen = state
        except UnavailableError:
            self._is_reconciled = False
            raise

    def _open_source(self) -> KraftDirectory:
        try:
            return open_directory(self._path)
        except MetadataLogError:
            # A source that is away may not come back, and gathered batches would be lost with it.
            self.write_gathered()
            raise

    def write_gathered(self) -> None:
        """Write and commit the gathered batches, without reading the source.

        Raises:
            UnavailableError: the disk is full; the gathered batches were not written, and only the
                source still has them.
        """
        if self._mirror.is_usable:
            self._write_rest()
            self._commit()

    def _reconcile(self, source: KraftDirectory) -> None:
        """Find where to continue reading; first cut the offsets that Kafka has replaced."""
        check_cluster(source, self._mirror)
        self._write_rest()
        self._commit()
        with self._reader() as reader:
            self._sole = SoleVoter.after(reader)
        # An import by an early release did not confirm what a single voter wrote.
        if self._sole.confirmed_end > self.confirmed_end:
            self._mirror.commit(self._sole.confirmed_end)
        with self._reader() as reader:
            found = reconcile(source, reader, may_replace_all=self._may_replace_all)
            epoch = None
            if found.end_offset < reader.end_offset:
                epoch = next(reader.batches(found.end_offset)).leader_epoch
        if epoch is not None:
            check_source(source)
            self._cut(found.end_offset, found.last_timestamp, epoch)
            self._committed_end = self.end_offset
        with self._reader() as reader:
            self._contested = ContestedKeys.after(reader)
            self._sole = SoleVoter.after(reader)
        self._position = found.position
        self.source_end = found.source_end
        self._is_reconciled = found.source_end is None

    def _read(self, source: KraftDirectory, progress: Callable[[int], None] | None) -> None:
        if self._position is None and source.start_offset != self.end_offset:
            raise UnavailableError(f"{source.path} was cleaned meanwhile; run the import again")
        scan = source.scan(self._position)
        size_bytes = 0
        starts = {segment.base_offset for segment in source.all_segments}
        for batch in map(self._contested.checked_batch, scan.batches()):
            if not self._collapse_noops and batch.base_offset in starts:
                self._gathering.flush()
                self._mirror.start_segment(batch.leader_epoch)  # an export begins one there, too
            self._gathering.add(batch)
            self._sole.add(batch.rows, batch.end_offset)
            self._position = scan.position
            size_bytes += batch.size
            if progress is not None:
                progress(size_bytes)
        self.trailing_bytes = scan.trailing_bytes

    def _confirm(self, source: KraftDirectory) -> None:
        """Advance the confirmed end to the end that a checkpoint or a single voter proves."""
        end = self.end_offset
        confirmed = max(self.confirmed_end, min(self._sole.confirmed_end, end))
        if any(confirmed < checkpoint.end_offset <= end for checkpoint in source.checkpoints):
            with self._reader() as reader:
                confirmed = max(confirmed, confirmed_by(source, reader))
        if confirmed > self.confirmed_end:
            self._mirror.commit(confirmed)

    def _new_gathering(self) -> Gathering:
        return Gathering(self._append, collapse_noops=self._collapse_noops, clock=self._clock)

    def _write_rest(self) -> None:
        """Write the gathered batches, unless the mirror no longer ends where they begin."""
        gathering, self._gathering = self._gathering, self._new_gathering()
        if gathering.first_offset == self.end_offset and self._mirror.is_usable:
            gathering.flush()

    def _commit(self) -> bool:
        """Commit the blocks written since the last commit; return False if there are none."""
        if self.end_offset == self._committed_end:
            return False
        self._mirror.commit()
        self._committed_end = self.end_offset
        return True


def check_cluster(source: KraftDirectory, mirror: MirrorWriter) -> None:
    """Check that a source belongs to the mirror's cluster.

    Raises:
        RequestError: the source belongs to another cluster, or has no cluster id.
    """
    cluster_id = source.cluster_id or UNKNOWN_CLUSTER_ID
    if cluster_id != mirror.cluster_id:
        raise RequestError(
            "INCONSISTENT_CLUSTER_ID",
            f"{source.path} is of cluster {cluster_id!r}, {mirror.directory} mirrors cluster "
            f"{mirror.cluster_id!r}; import it into a LOG of its own",
        )


def check_source(source: KraftDirectory) -> None:
    """Check a source for damage by reading all of it, before its mirror is cut.

    Raises:
        CorruptLogError: the source is damaged; names file and byte.
        UnavailableError: Kafka removed a file meanwhile.
    """
    for checkpoint in source.checkpoints:
        checkpoint.verify()
    for _ in source.batches():
        pass
