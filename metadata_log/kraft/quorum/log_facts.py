"""Reading of a log after a lost quorum: its batches, voters, open transaction and damage."""

from collections.abc import Sequence
from typing import Self

from metadata_log.kraft.batch_index import BatchIndex
from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.directory import KraftDirectory
from metadata_log.kraft.epochs import EpochGuard
from metadata_log.kraft.log_scan import LogScan
from metadata_log.kraft.quorum.damaged_log import (
    BadPlace,
    FoundBatch,
    batches_from,
    headers_behind,
    is_torn,
    was_unwritten,
)
from metadata_log.kraft.quorum.facts import CheckpointId, Damage, LogEnd, Voter, VoterSet
from metadata_log.kraft_format.batch import BatchHeader, KraftBatch, parse_header
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    LeaderChangeMessage,
    UnknownRecord,
    VotersRecord,
)
from records.errors import CorruptLogError
from records.text import uuid_text

_FOLLOWED = frozenset(
    {
        LeaderChangeMessage,
        VotersRecord,
        BeginTransactionRecord,
        EndTransactionRecord,
        AbortTransactionRecord,
        UnknownRecord,
    }
)


class LogFacts:
    """Facts about a log, from its first batch to its last good one, and about damage after that.

    The attributes have the meanings given in `NodeFacts`.
    """

    def __init__(self) -> None:
        self.end: LogEnd | None = None
        self.checkpoints: list[CheckpointId] = []
        self.broken: list[str] = []
        self.voter_sets: list[VoterSet] = []
        self.leader_voters: VoterSet | None = None
        self.transaction_start: int | None = None
        self.damage: Damage | None = None
        self.torn_bytes = 0
        self.is_tail_damaged = False
        self.unknown_records = 0
        self.first_unknown: int | None = None
        self.inconsistent: str | None = None
        self.batches = BatchIndex(0)

    @classmethod
    def read(cls, log: KraftDirectory) -> Self:
        """Read a whole log; damage is recorded, not raised.

        Raises:
            UnavailableError: a file was removed meanwhile.
        """
        facts = cls()
        newest = facts._read_checkpoints(log.checkpoints)
        facts._read_segments(log)
        facts._check_start(log)
        if newest is not None:
            facts._read_voters_of(newest)
        facts.voter_sets.sort(key=lambda each: each.offset)
        facts._find_end()
        return facts

    def _read_checkpoints(self, checkpoints: Sequence[KraftCheckpoint]) -> KraftCheckpoint | None:
        newest = None
        for checkpoint in checkpoints:
            try:
                checkpoint.verify()
            except CorruptLogError:
                self.broken.append(checkpoint.path.name)
                continue
            newest = checkpoint
            self.checkpoints.append(CheckpointId(checkpoint.end_offset, checkpoint.leader_epoch))
        return newest

    def _read_segments(self, log: KraftDirectory) -> None:
        segments = log.all_segments
        if not segments:
            return
        self.batches = BatchIndex(segments[0].base_offset)
        scan = LogScan(segments, EpochGuard(log.path, ()))
        try:
            for batch in scan.batches():
                assert scan.position is not None
                self._index(parse_header(scan.position.header))
                self._follow(batch)
            self.torn_bytes = scan.trailing_bytes
        except CorruptLogError as error:
            self._read_behind(log, scan, error)

    def _follow(self, batch: KraftBatch) -> None:
        for row in batch.rows:
            if type(row.payload) not in _FOLLOWED and row.extra is None:
                continue
            match row.payload:
                case UnknownRecord():
                    self._count_unknown(row.offset)
                case LeaderChangeMessage() as record:
                    ids = (Voter(voter.voter_id) for voter in record.voters)
                    self.leader_voters = VoterSet(voters=frozenset(ids), offset=row.offset)
                case VotersRecord() as record:
                    self.voter_sets.append(_voters(record, row.offset))
                case BeginTransactionRecord():
                    self.transaction_start = row.offset
                case EndTransactionRecord() | AbortTransactionRecord():
                    self.transaction_start = None
                case _ if row.extra and row.extra.unknown_tags:
                    self._count_unknown(row.offset)

    def _count_unknown(self, offset: int) -> None:
        self.unknown_records += 1
        self.first_unknown = offset if self.first_unknown is None else self.first_unknown

    def _read_behind(self, log: KraftDirectory, scan: LogScan, error: CorruptLogError) -> None:
        segments = log.all_segments
        place = self._bad_place(log, scan)
        torn = is_torn(place, segments)
        if torn is not None:
            self.torn_bytes, self.is_tail_damaged = torn, not was_unwritten(place)
            return
        run, is_to_end = headers_behind(place, segments)
        newest = self.checkpoints[-1] if self.checkpoints else CheckpointId(0, 0)
        covered = [each for each in run if each.header.base_offset >= newest.end_offset]
        is_covered = (
            is_to_end
            and newest.end_offset > self.batches.end_offset
            and (
                run[-1].header.end_offset == newest.end_offset
                or _starts_at(covered, newest.end_offset)
            )
        )
        self.damage = Damage(
            offset=self.batches.end_offset,
            text=str(error),
            is_covered=is_covered,
            behind=LogEnd(run[-1].header.leader_epoch, run[-1].header.end_offset) if run else None,
        )
        if is_covered:
            self._start_at(newest)
            for each in covered:
                self._index(each.header)
            for batch in batches_from(covered[0], segments) if covered else ():
                self._follow(batch)

    def _start_at(self, checkpoint: CheckpointId) -> None:
        """Discard the batches below a checkpoint. No transaction is open at the end of a
        checkpoint.
        """
        self.batches = BatchIndex(checkpoint.end_offset, last_epoch=checkpoint.leader_epoch)
        self.transaction_start = None

    def _index(self, header: BatchHeader) -> None:
        crc, epoch = header.crc, header.leader_epoch
        self.batches.add(header.base_offset, header.end_offset, epoch, crc, kind=0)

    def _bad_place(self, log: KraftDirectory, scan: LogScan) -> BadPlace:
        segments = log.all_segments
        last = scan.position
        if last is None:
            return BadPlace(
                segment=segments[0],
                position=0,
                next_offset=self.batches.end_offset,
                leader_epoch=-1,
            )
        header = parse_header(last.header)
        position = last.byte + header.size
        index = next(
            i for i, each in enumerate(segments) if each.base_offset == last.segment_base_offset
        )
        if position >= segments[index].path.stat().st_size and index + 1 < len(segments):
            index, position = index + 1, 0
        return BadPlace(
            segment=segments[index],
            position=position,
            next_offset=header.end_offset,
            leader_epoch=header.leader_epoch,
        )

    def _check_start(self, log: KraftDirectory) -> None:
        """Check that a checkpoint reaches the first segment, as Kafka does before it starts."""
        segments = log.all_segments
        start = segments[0].base_offset if segments else 0
        if start and not any(checkpoint.end_offset >= start for checkpoint in self.checkpoints):
            self.inconsistent = (
                f"its log starts at offset {start} and no whole checkpoint reaches that: Kafka "
                "refuses to start from it"
            )

    def _read_voters_of(self, checkpoint: KraftCheckpoint) -> None:
        for batch in checkpoint.batches():
            for row in batch.rows if batch.is_control else ():
                if isinstance(row.payload, VotersRecord):
                    self.voter_sets.append(_voters(row.payload, checkpoint.end_offset - 1))

    def _find_end(self) -> None:
        """Set `end` to the log's end. A checkpoint that ends beyond the batches replaces them."""
        in_log = LogEnd(self.batches.last_epoch, self.batches.end_offset)
        newest = self.checkpoints[-1] if self.checkpoints else None
        if newest is not None and newest.end_offset > in_log.end_offset:
            self.end = LogEnd(newest.leader_epoch, newest.end_offset)
            self._start_at(newest)
        elif in_log.leader_epoch >= 0:
            self.end = in_log
        elif newest is not None:
            self.end = LogEnd(newest.leader_epoch, newest.end_offset)


def _starts_at(batches: Sequence[FoundBatch], offset: int) -> bool:
    return bool(batches) and batches[0].header.base_offset == offset


def _voters(record: VotersRecord, offset: int) -> VoterSet:
    voters = (Voter(voter.voter_id, uuid_text(voter.voter_directory_id)) for voter in record.voters)
    return VoterSet(voters=frozenset(voters), offset=offset)
