"""What must hold for a log that is read, whatever happened to the disk.

- No acknowledged batch is missing, and each is at the offset in its answer.
- No batch is in the log that was not submitted, or was refused, or is there twice, or in part.
- Batches that one writer was given in an order are in this order, without gaps.
- Epochs never go down; each begins with its leader change, and has only batches of its own writer.
- Everything that any reader ever saw is still there.
"""

from collections.abc import Sequence

from metadata_log.format.batch import Batch
from records.control import LeaderChangeMessage, NoteRecord
from tests.simulated_disk.history import Answer, Entry, Known, Submission


class Violation(Exception):
    """The log broke a promise."""


def entry_of(batch: Batch) -> Entry:
    """Return the number of the submission from which a batch of the log comes."""
    first = batch.rows[0].payload
    number = first.at_offset if isinstance(first, NoteRecord) else None
    return Entry(batch.base_offset, batch.leader_epoch, number)


def check_log(batches: Sequence[Batch], known: Known) -> list[Entry]:
    """Check a whole log, from offset 0 on, and return its entries.

    Raises:
        Violation: names the broken promise, and the place.
    """
    entries = check_entries(batches, known)
    _check_acknowledged(entries, batches, known)
    _check_seen(entries, known)
    return entries


def check_view(batches: Sequence[Batch], known: Known) -> list[Entry]:
    """Check what a reader sees in a log that has a writer, or was not yet opened after a crash."""
    entries = check_entries(batches, known)
    for entry, before in zip(entries, known.seen(), strict=False):
        if entry != before:
            raise Violation(f"a reader saw {before}, now there is {entry}")
    return entries


def check_entries(batches: Sequence[Batch], known: Known) -> list[Entry]:
    """Check that each batch in a log may be there, and that all are in order."""
    entries: list[Entry] = []
    end = epoch = time = 0
    next_of_writer: dict[int, int] = {}
    for batch in batches:
        entry = entry_of(batch)
        if entry.base_offset != end or entry.leader_epoch < epoch or batch.timestamp < time:
            raise Violation(f"{entry}, time {batch.timestamp}, stands after {(end, epoch, time)}")
        if (entry.leader_epoch > epoch) != (entry.submission is None):
            raise Violation(f"{entry} stands after epoch {epoch}: an epoch begins with its leader")
        if entry.submission is None:
            _check_leader_change(batch, entry)
        else:
            _check_submitted(batch, entry.submission, known, next_of_writer)
        end, epoch, time = batch.end_offset, batch.leader_epoch, batch.timestamp
        entries.append(entry)
    return entries


def _check_leader_change(batch: Batch, entry: Entry) -> None:
    if len(batch.rows) != 1 or not isinstance(batch.rows[0].payload, LeaderChangeMessage):
        raise Violation(f"{entry} is a phantom: {batch.rows[0].payload}")


def _check_submitted(
    batch: Batch, number: int, known: Known, next_of_writer: dict[int, int]
) -> None:
    """Check one batch against the submission from which it comes."""
    submission = known.submission(number)
    if submission is None:
        raise Violation(f"submission {number} is in the log, and was never made: a phantom")
    if tuple([row.payload for row in batch.rows]) != submission.records:
        raise Violation(f"submission {number} is not in the log as a whole")
    if submission.answer is Answer.REFUSED and submission.answered_at <= known.moment:
        raise Violation(f"submission {number} is in the log, and was refused")
    if submission.found_missing_at <= known.moment:
        raise Violation(f"submission {number} is in the log, and was gone after a crash before")
    _check_order(submission, known, next_of_writer)
    epoch = known.history.openings[submission.writer].epoch
    if epoch not in (None, batch.leader_epoch):
        raise Violation(f"submission {number} has epoch {batch.leader_epoch}, not {epoch}")


def _check_order(submission: Submission, known: Known, next_of_writer: dict[int, int]) -> None:
    """Check that a writer's batch follows those that the writer was given before."""
    given = known.history.given[submission.writer]
    index = next_of_writer.get(submission.writer, 0)
    while index < len(given) and given[index] is not submission:
        if _must_come_first(given[index]):
            raise Violation(f"{given[index].number} is left out before {submission.number}")
        index += 1
    if index == len(given):
        raise Violation(f"submission {submission.number} is there twice, or after a later one")
    next_of_writer[submission.writer] = index + 1


def _must_come_first(skipped: Submission) -> bool:
    # A caller that went away in time was never written; one that was refused never will be.
    return skipped.answer not in (Answer.REFUSED, Answer.CANCELLED)


def _check_acknowledged(entries: list[Entry], batches: Sequence[Batch], known: Known) -> None:
    places = {entry.submission: index for index, entry in enumerate(entries)}
    for submission in known.acknowledged():
        index = places.get(submission.number)
        result = submission.result
        assert result is not None
        if index is None:
            raise Violation(
                f"submission {submission.number} was acknowledged at offset "
                f"{result.base_offset}, and is lost"
            )
        batch = batches[index]
        found = (batch.base_offset, batch.end_offset, batch.leader_epoch, batch.timestamp)
        told = (result.base_offset, result.end_offset, result.leader_epoch, result.timestamp)
        if found != told:
            raise Violation(
                f"submission {submission.number} was acknowledged as {told}, and is {found}"
            )


def _check_seen(entries: list[Entry], known: Known) -> None:
    for index, seen in enumerate(known.seen()):
        if index >= len(entries) or entries[index] != seen:
            raise Violation(f"a reader saw {seen}, and it is gone")
