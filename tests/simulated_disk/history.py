"""What a workload knows: who submitted which batches, in which order, and the answers.

Each fact has the number of the event at which it became known, so that a crash in the middle of a
workload can be checked against the facts known at that time.
"""

import enum
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from metadata_log.format.batch import AppendResult
from records.control import NoteRecord
from records.envelope import Origin

NEVER = 1 << 62
"""The number of an event that has not come."""


class Answer(enum.Enum):
    """The answer that the submitter of a batch got."""

    NONE = "none"  # the crash came first, or the caller was cancelled
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"  # nothing was written
    UNKNOWN = "unknown"  # it may have been committed
    CANCELLED = "cancelled"  # the caller went away


@dataclass(slots=True)
class Submission:
    """A batch that was submitted, and its outcome.

    `writer` is the opening whose writer got it. `origin` is that of a request that may be repeated,
    None for others. `found_missing_at` is the event at which a log opened after a crash did not
    contain it: it must never reappear.
    """

    number: int
    writer: int
    records: tuple[NoteRecord, ...]
    submitted_at: int
    origin: Origin | None = None
    answer: Answer = Answer.NONE
    answered_at: int = NEVER
    result: AppendResult | None = None
    found_missing_at: int = NEVER


@dataclass(slots=True)
class Opening:
    """One start of a writer; `epoch` is None until the writer got it."""

    number: int
    started_at: int
    opened_at: int = NEVER
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A batch of the log as a reader saw it: a submission's number, None for a leader change."""

    base_offset: int
    leader_epoch: int
    submission: int | None


@dataclass(slots=True)
class History:
    """All submissions and openings, and everything that any reader ever saw.

    `given[n]` has the batches given to the writer of opening n, in order. `seen` is the longest log
    that was ever seen; `seen_at[i]` is the event at which its entry i was first seen.
    """

    events: int = 0
    # How often what must hold after a crash has changed.
    duties: int = 0
    submissions: list[Submission] = field(default_factory=list)
    openings: list[Opening] = field(default_factory=list)
    given: list[list[Submission]] = field(default_factory=list)
    seen: list[Entry] = field(default_factory=list)
    seen_at: list[int] = field(default_factory=list)

    def start_opening(self) -> Opening:
        """Record that a writer starts."""
        opening = Opening(len(self.openings), self._next())
        self.openings.append(opening)
        self.given.append([])
        return opening

    def finish_opening(self, opening: Opening, epoch: int) -> None:
        """Record that a writer got its epoch."""
        opening.epoch, opening.opened_at = epoch, self._next()
        self.duties += 1

    def submit(self, writer: int, texts: Sequence[str]) -> Submission:
        """Record that a batch is given to a writer; its records carry its number."""
        number = len(self.submissions)
        records = tuple(
            [
                NoteRecord(at_offset=number, author=str(index), text=text)
                for index, text in enumerate(texts)
            ]
        )
        # Half of the batches are requests that may be repeated; this one's body is its number.
        origin = (
            Origin(request_id=f"request {number}", request_hash=b"body") if number % 2 else None
        )
        submission = Submission(number, writer, records, self._next(), origin)
        self.submissions.append(submission)
        self.given[writer].append(submission)
        return submission

    def submit_again(self, submission: Submission, writer: int) -> None:
        """Record that a batch which is not in the log is given to a writer once more."""
        self.given[submission.writer].remove(submission)
        self.given[writer].append(submission)
        submission.writer = writer
        submission.answer, submission.answered_at = Answer.NONE, NEVER
        submission.found_missing_at = NEVER
        self.duties += 1

    def answered(
        self, submission: Submission, answer: Answer, result: AppendResult | None = None
    ) -> None:
        """Record the answer that the submitter got."""
        submission.answer, submission.result = answer, result
        submission.answered_at = self._next()
        self.duties += 1

    def saw(self, entries: list[Entry]) -> None:
        """Record what a reader saw; it must agree with what was seen before."""
        new = entries[len(self.seen) :]
        if new:
            self.seen += new
            self.seen_at += [self._next()] * len(new)
            self.duties += 1

    def survived(self, entries: list[Entry]) -> None:
        """Record the content of a log after a crash and a start: all other batches are lost."""
        self.saw(entries)
        held = {entry.submission for entry in entries}
        now = self._next()
        for submission in self.submissions:
            if submission.number not in held and submission.found_missing_at is NEVER:
                submission.found_missing_at = now
        self.duties += 1

    def known_at(self, moment: int) -> "Known":
        """Return what was known after a number of events."""
        return Known(self, moment)

    def _next(self) -> int:
        self.events += 1
        return self.events


@dataclass(frozen=True, slots=True)
class Known:
    """A history up to a moment."""

    history: History
    moment: int

    def acknowledged(self) -> Iterator[Submission]:
        """Yield the submissions that must be in the log."""
        for submission in self.history.submissions:
            if submission.answer is Answer.ACKNOWLEDGED and submission.answered_at <= self.moment:
                yield submission

    def submission(self, number: int) -> Submission | None:
        """Return a submission; None if it had not been submitted yet."""
        if number >= len(self.history.submissions):
            return None
        submission = self.history.submissions[number]
        return submission if submission.submitted_at <= self.moment else None

    def seen(self) -> list[Entry]:
        """Return the longest log that had been seen."""
        count = sum(1 for at in self.history.seen_at if at <= self.moment)
        return self.history.seen[:count]

    def fingerprint(self) -> Hashable:
        """Return a value that is equal if everything is equal that a check of the log uses."""
        history = self.history
        submissions = tuple(
            [
                (one.writer, one.records, one.answer, one.result, *self._has_happened(one))
                for one in history.submissions
            ]
        )
        openings = tuple([(one.epoch, one.opened_at <= self.moment) for one in history.openings])
        given = tuple([tuple([one.number for one in given]) for given in history.given])
        return submissions, openings, given, tuple(self.seen())

    def _has_happened(self, one: Submission) -> tuple[bool, bool, bool]:
        return (
            one.submitted_at <= self.moment,
            one.answered_at <= self.moment,
            one.found_missing_at <= self.moment,
        )

    def epoch_floor(self) -> int:
        """Return the highest epoch that any writer got."""
        told = [o.epoch for o in self.history.openings if o.opened_at <= self.moment]
        return max((epoch for epoch in told if epoch is not None), default=0)
