"""The answers that a killed writer had printed, compared with the content of the log."""

from collections.abc import Iterable

import msgspec

from metadata_log.format.batch import Batch
from records.control import LeaderChangeMessage
from records.topics import TopicRecord


class Answers(msgspec.Struct, frozen=True):
    """The acknowledged appends of one round: the offsets of each caller, in the order of its
    calls.
    """

    round_number: int
    offsets: dict[int, list[int]]

    @property
    def count(self) -> int:
        """Number of acknowledged appends."""
        return sum(map(len, self.offsets.values()))


def parse(round_number: int, told: bytes) -> Answers:
    """Parse the output of a writer; the last line may be cut off by the kill."""
    offsets: dict[int, list[int]] = {}
    for line in told.splitlines(keepends=True):
        if line == b"opened\n" or not line.endswith(b"\n"):
            continue
        caller, count, offset = map(int, line.split())
        of_caller = offsets.setdefault(caller, [])
        assert len(of_caller) == count, f"caller {caller} skipped from {len(of_caller)} to {count}"
        of_caller.append(offset)
    return Answers(round_number, offsets)


def broken_promises(answers: Answers, batches: Iterable[Batch]) -> list[str]:
    """Compare the printed answers with the batches of this round in the log.

    Each caller waits for its answer, so at most one append of each may be in the log without an
    answer.
    """
    found: dict[int, int] = {}
    broken: list[str] = []
    for batch in batches:
        (row,) = batch.rows
        if isinstance(row.payload, LeaderChangeMessage):
            continue
        name = row.payload.name if isinstance(row.payload, TopicRecord) else repr(row.payload)
        if not name.startswith(f"{answers.round_number}/"):
            broken.append(f"phantom: offset {row.offset} holds {name}")
            continue
        _, caller, count = map(int, name.split("/"))
        told = answers.offsets.get(caller, [])
        if count != found.get(caller, 0):
            broken.append(f"offset {row.offset} is {name}, expected {found.get(caller, 0)}")
        if count > len(told):
            broken.append(f"phantom: {name} was not asked for, the last answer was {len(told) - 1}")
        elif count < len(told) and told[count] != row.offset:
            broken.append(f"{name} was told to be at {told[count]}, is at {row.offset}")
        found[caller] = count + 1
    broken += [
        f"lost: caller {caller} was told of {len(told)} appends, {found.get(caller, 0)} are there"
        for caller, told in answers.offsets.items()
        if found.get(caller, 0) < len(told)
    ]
    return broken
