"""One process that writes the log: its event loop, its writer, and the answers to its callers."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from metadata_log.format.batch import AppendResult, Batch, NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from records.avro.schema import envelope_schema_json
from records.errors import FencedError, Outcome, RequestError, UnavailableError
from tests.simulated_disk.disk import ROOT, SimulatedDisk
from tests.simulated_disk.expectations import Violation
from tests.simulated_disk.history import Answer, History, Opening, Submission
from tests.simulated_disk.loop import SimulatedLoop

LOG = Path(ROOT) / "log"
CLUSTER_ID = "simulated"
# The header takes most of it: a few appends fill a segment.
SEGMENT_SIZE_BYTES_MAX = len(envelope_schema_json()) + 1_278


class StepClock:
    """A clock that advances by a second at each reading."""

    def __init__(self) -> None:
        self.time_ms = 1_700_000_000_000

    def now_ms(self) -> int:
        self.time_ms += 1_000
        return self.time_ms


async def at_once(call: Callable[[], None]) -> None:
    """Call a function at once: a simulated disk never waits."""
    call()


def read_log(disk: SimulatedDisk) -> list[Batch]:
    """Return every batch that a reader sees now."""
    with LogReader.open(LOG, fs=disk) as reader:
        return list(reader.batches())


class Session:
    """A writer, from its start.

    Attributes:
        failed: True if the writer reported that it must not continue.
    """

    def __init__(self, disk: SimulatedDisk, history: History, clock: StepClock) -> None:
        self._history = history
        self._loop = SimulatedLoop()
        self._opening: Opening = history.start_opening()
        self.failed = False
        self.log: MetadataLog = self._loop.run(open_log(disk, clock))
        history.finish_opening(self._opening, self.log.leader_epoch)

    def append(self, *batches: Sequence[str], expected: int | None = None) -> list[Submission]:
        """Append batches (the text of each record), each by its own caller, all at once."""
        return self._loop.run(self._gather(batches, expected))

    def append_and_cancel(
        self, batches: Sequence[Sequence[str]], index: int, steps: int
    ) -> list[Submission]:
        """Append batches at once; one caller is cancelled after a few steps of the loop."""
        return self._loop.run(self._gather_and_cancel(batches, index, steps))

    def append_again(self, submission: Submission, *, is_in_log: bool) -> None:
        """Repeat a request: it is committed once, also if its first answer got lost."""
        first = submission.result if submission.answer is Answer.ACKNOWLEDGED else None
        if is_in_log:
            result = self._loop.run(self._ask_again(submission))
            if result is not None and first not in (None, result):
                raise Violation(f"{submission.number} was answered {first}, and then {result}")
        else:
            self._history.submit_again(submission, self._opening.number)
            self._loop.run(self._hand_over(submission))

    async def _ask_again(self, submission: Submission) -> AppendResult | None:
        """Repeat a request that is in the log; None if the writer cannot answer."""
        assert submission.origin is not None
        other = msgspec.structs.replace(submission.origin, request_hash=b"another body")
        batch = NewBatch(records=submission.records, origin=submission.origin)
        try:
            result = await self.log.append(batch)
            with suppress(RequestError):
                await self.log.append(msgspec.structs.replace(batch, origin=other))
                raise Violation(f"another request with the id of {submission.number} was taken")
        except FencedError:
            self.failed = True
        except UnavailableError:
            pass
        else:
            if submission.answer is not Answer.ACKNOWLEDGED:
                self._history.answered(submission, Answer.ACKNOWLEDGED, result)
            return result
        return None

    def must_not_answer(self, submission: Submission) -> None:
        """Repeat a request to a writer that has lost the log, and cannot know its outcome."""
        self._loop.run(self._ask_in_vain(submission))

    async def _ask_in_vain(self, submission: Submission) -> None:
        batch = NewBatch(records=submission.records, origin=submission.origin)
        with suppress(FencedError, UnavailableError):
            await self.log.append(batch)
            raise Violation(f"{submission.number} was acknowledged by a writer that lost the log")

    def wait(self, seconds: float) -> None:
        """Advance the time."""
        self._loop.advance(seconds)

    def close(self) -> None:
        """Close the writer cleanly."""
        self._loop.run(self.log.close())
        for error in self._loop.errors:
            if not isinstance(error, OSError):
                raise error

    def die(self) -> None:
        """End without closing the writer."""
        self._loop.forget()

    async def _gather(
        self, batches: Sequence[Sequence[str]], expected: int | None
    ) -> list[Submission]:
        return await asyncio.gather(*(self._append(texts, expected) for texts in batches))

    async def _gather_and_cancel(
        self, batches: Sequence[Sequence[str]], index: int, steps: int
    ) -> list[Submission]:
        tasks = [asyncio.create_task(self._append(texts, None)) for texts in batches]
        for _ in range(steps):
            await asyncio.sleep(0)
        tasks[index].cancel()
        return await asyncio.gather(*tasks)

    async def _append(self, texts: Sequence[str], expected: int | None) -> Submission:
        submission = self._history.submit(self._opening.number, texts)
        await self._hand_over(submission, expected)
        return submission

    async def _hand_over(self, submission: Submission, expected: int | None = None) -> None:
        """Have a submission committed, and record the answer of its caller."""
        batch = NewBatch(records=submission.records, origin=submission.origin)
        try:
            result = await self.log.append(batch, expected_end_offset=expected)
        except asyncio.CancelledError:
            self._history.answered(submission, Answer.CANCELLED)
        except (FencedError, RequestError, UnavailableError) as error:
            self.failed = self.failed or isinstance(error, FencedError)
            is_known = error.outcome is Outcome.NOTHING
            self._history.answered(submission, Answer.REFUSED if is_known else Answer.UNKNOWN)
        except OSError as error:
            raise Violation(f"a caller got a bare {error!r}") from error
        else:
            self._history.answered(submission, Answer.ACKNOWLEDGED, result)


async def open_log(disk: SimulatedDisk, clock: StepClock) -> MetadataLog:
    """Open the log as its writer."""
    return await MetadataLog.open(
        LOG,
        fs=disk,
        clock=clock,
        run_blocking=at_once,
        segment_size_bytes_max=SEGMENT_SIZE_BYTES_MAX,
    )
