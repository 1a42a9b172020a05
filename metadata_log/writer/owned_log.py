"""Taking over a log as its writer: lock the log, claim a higher epoch, recover the tail."""

from pathlib import Path

import msgspec

from metadata_log.files.file_publish import remove_unpublished
from metadata_log.files.fs import Fs, Lock, full_as_unavailable, missing_as_unavailable
from metadata_log.files.lock import lock_directory
from metadata_log.files.names import segment_offsets
from metadata_log.format.base import check_base_header
from metadata_log.format.batch import NewBatch
from metadata_log.format.commit_mark import NO_MARK, CommitMark, read_mark
from metadata_log.format.manifest import Kind, read_manifest
from metadata_log.format.tail import Tail
from metadata_log.limits import BATCH_SIZE_BYTES_MAX, SEGMENT_SIZE_BYTES_MAX
from metadata_log.recovery.chain import check_chain, cut_surplus
from metadata_log.recovery.copy_recovery import cut_back
from metadata_log.recovery.recovery import recover
from metadata_log.shared.identity import check_not_shared
from metadata_log.writer.claims import Claim, claim_epoch
from metadata_log.writer.log_writer import LogWriter
from metadata_log.writer.node_writer import NodeWriter
from records.control import LeaderChangeMessage, LeaderChangeVoter
from records.envelope import Asked
from records.errors import CorruptLogError, RequestError


class OwnedLog(msgspec.Struct, frozen=True):
    """A log that a writer has taken over: the lock, the claim, and the writer positioned at the
    tail.
    """

    cluster_id: str
    lock: Lock
    claim: Claim
    writer: LogWriter


def own_log(fs: Fs, directory: Path, segment_size_bytes_max: int) -> OwnedLog:
    """Take over a log that is not a mirror, and start a segment for the new epoch.

    Raises:
        RequestError: the directory is not a log, or is a mirror, to which nothing can be appended.
        UnavailableError, FencedError, CorruptLogError: as `take_over`.
    """
    owned = take_over(fs, directory, Kind.OWN, segment_size_bytes_max=segment_size_bytes_max)
    try:
        owned.writer.start_segment(owned.claim.leader_epoch)
    except BaseException:
        owned.writer.abandon()
        owned.lock.release()
        raise
    return owned


def take_over(
    fs: Fs,
    directory: Path,
    kind: Kind,
    *,
    batch_size_bytes_max: int = BATCH_SIZE_BYTES_MAX,
    segment_size_bytes_max: int = SEGMENT_SIZE_BYTES_MAX,
    holds_batches: bool = False,
    is_copy: bool = False,
    least_end: int | None = None,
) -> OwnedLog:
    """Lock a log, claim a higher epoch, recover the tail, and publish a mark at the tail.

    Args:
        is_copy: True for a node's folder, which is cut at any damage, as far as `least_end` allows.
        least_end: As `cut_back`.

    Raises:
        RequestError: the directory is not a log of this kind.
        UnavailableError: another writer holds the lock, the disk is full, or the log's start moved
            up meanwhile.
        FencedError: another writer took over meanwhile, although the lock was taken.
        CorruptLogError: acknowledged records are damaged or missing. Opening checks the headers and
            lengths of all segments, and everything past the commit mark.
    """
    cluster_id = _cluster_id(fs, directory, kind)
    if not is_copy:
        check_not_shared(fs, directory)
    lock = lock_directory(fs, directory)
    try:
        with missing_as_unavailable(directory), full_as_unavailable(directory):
            claim = claim_epoch(fs, directory, _mark(fs, directory, is_copy).leader_epoch)
            # Read the tail only after claiming: an earlier writer may have written until then.
            mark = _mark(fs, directory, is_copy)
            writer = (NodeWriter if is_copy else LogWriter)(
                fs,
                directory,
                cluster_id,
                _recovered(
                    fs, directory, cluster_id, mark, claim, is_copy=is_copy, least_end=least_end
                ),
                claim,
                batch_size_bytes_max=batch_size_bytes_max,
                segment_size_bytes_max=segment_size_bytes_max,
                holds_batches=holds_batches,
            )
            publish_end(writer, mark, kind)
            if is_copy and not writer.tail.position:  # it was cut to nothing
                _begin_anew(writer)
    except BaseException:
        lock.release()
        raise
    return OwnedLog(cluster_id, lock, claim, writer)


def publish_end(writer: LogWriter, found: CommitMark, kind: Kind) -> None:
    """Publish a writer's first mark, at its tail; close the writer on failure.

    Args:
        found: The previous mark. A mirror keeps the confirmed end of this mark, because only
            Kafka's checkpoints confirm offsets.
    """
    if kind is Kind.MIRROR:
        writer.confirmed_end = found.confirmed_end
    try:
        writer.take_over(found)
    except BaseException:
        writer.abandon()
        raise


def _begin_anew(writer: LogWriter) -> None:
    """Start the first segment, as in a new log; close the writer on failure."""
    try:
        writer.start_segment(leader_epoch=0)
    except BaseException:
        writer.abandon()
        raise


def _cluster_id(fs: Fs, directory: Path, kind: Kind) -> str:
    manifest = read_manifest(fs, directory)
    if manifest.kind is kind:
        return manifest.cluster_id
    if kind is Kind.MIRROR:
        raise RequestError(
            "LOG_EXISTS",
            f"{directory} is not a mirror, so it takes no imported records; name a new directory, "
            "or a mirror of this cluster",
        )
    raise RequestError(
        "NOT_CONTROLLER",
        f"{directory} mirrors a Kafka cluster and takes no records; `metalog fork {directory} LOG "
        "--at end` makes a writable log from it",
    )


def _mark(fs: Fs, directory: Path, is_copy: bool) -> CommitMark:
    """Return the commit mark; for a node's folder without a valid mark, that of an empty log."""
    try:
        return read_mark(fs, directory)
    except CorruptLogError:
        if not is_copy:
            raise
        return NO_MARK


def _recovered(
    fs: Fs,
    directory: Path,
    cluster_id: str,
    mark: CommitMark,
    claim: Claim,
    *,
    is_copy: bool,
    least_end: int | None,
) -> Tail:
    """Recover the log and return its tail, with no bytes or segments left after it."""
    remove_unpublished(fs, directory, claim)
    try:
        # Check all headers before cutting: the bytes cut may be evidence of damage elsewhere.
        surplus = check_chain(fs, directory, cluster_id)
        names = fs.list(directory)
        check_base_header(fs, directory, cluster_id, names, segment_offsets(names))
        tail = recover(fs, directory, mark, claim)
    except CorruptLogError as damage:
        if not is_copy:
            raise
        return cut_back(fs, directory, cluster_id, damage, claim, least_end=least_end)
    cut_surplus(fs, surplus)
    return tail


def announcement(node_id: int, asked: Asked | None) -> NewBatch:
    """Return the first batch of a writer, which announces the writer as leader of its epoch.

    Args:
        asked: Stored with the batch: the settings of the deciding controller.
    """
    voter = (LeaderChangeVoter(voter_id=node_id),)
    record = LeaderChangeMessage(version=0, leader_id=node_id, voters=voter, granting_voters=voter)
    return NewBatch(records=(record,), record_versions=(0,), asked=asked)
