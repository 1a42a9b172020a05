"""Runs a workload on a simulated disk, and records the answers that its callers got.

A driver continues through process crashes, power losses and take-overs, and checks the log after
each start. A crash at an I/O boundary is set up before the operation that reaches the boundary.
"""

import threading
from collections.abc import Callable
from random import Random

from metadata_log.limits import BATCH_RECORDS_MAX, BATCH_SIZE_BYTES_MAX
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from records.errors import FencedError, UnavailableError
from tests.simulated_disk.crash import PowerLosses
from tests.simulated_disk.disk import DiskState, PowerLoss, SimulatedDisk
from tests.simulated_disk.expectations import Violation, check_log, check_view, entry_of
from tests.simulated_disk.faults import Call, Faults
from tests.simulated_disk.history import Answer, History, Known
from tests.simulated_disk.loop import Stuck
from tests.simulated_disk.session import CLUSTER_ID, LOG, Session, StepClock, read_log
from tests.simulated_disk.workload import Kind, Operation

Observer = Callable[["Driver"], None]

# An I/O boundary that is armed lies at most so far ahead; most operations have fewer.
_BOUNDARIES_AHEAD = 12


class Driver:
    """A disk, the log on it, its writer, and everything that its callers know.

    Attributes:
        trace: Every call to all disks of the workload.
        point: Number of the current I/O boundary, counted over all disks of the workload.
        is_created: True if `create_log` has returned.
    """

    def __init__(
        self,
        *,
        observe: Observer | None = None,
        faults: Faults | None = None,
        capacity: int | None = None,
    ) -> None:
        self._faults = faults or Faults()
        self._capacity = capacity
        self.trace: list[Call] = []
        self.history = History()
        # Errors of the disk explain refusals that would be wrong otherwise.
        self._was_broken = False
        self.point = 0
        self.is_created = False
        self._observe = observe
        self._clock = StepClock()
        self._armed: dict[int, list[Callable[[], None]]] = {}
        self._old_reader: LogReader | None = None
        self._state_after_crash: DiskState | None = None
        self.disk = self._make_disk(None)
        self.session: Session | None = None

    def start(self) -> None:
        """Create the log, and become its writer."""
        create_log(LOG, CLUSTER_ID, fs=self.disk)
        self.is_created = True
        self._open()

    def run(self, operation: Operation) -> None:
        """Run one operation; restart the writer if it ended in a crash or failed.

        Raises:
            Violation: the log broke a promise.
        """
        failed = self.disk.faults.happened
        try:
            self._survive(lambda: _DO[operation.kind](self, operation.random()))
        except (OSError, FencedError, UnavailableError):
            if self.disk.faults.happened == failed:
                raise
            self.give_up()

    def give_up(self) -> None:
        """End the process that met a broken disk; the system and its page cache continue."""
        if self.session is not None:
            self.session.die()
        self.session = self._old_reader = None
        self.disk.break_locks()

    def break_disk(self, faults: Faults, capacity: int | None) -> None:
        """Make the disk fail as given from now on; its calls are counted from 0 again."""
        self._was_broken = self._is_excused()
        self._faults = self.disk.faults = faults
        self._capacity = self.disk.capacity = capacity

    def mend(self) -> None:
        """Make the disk work from now on; the log must accept appends then."""
        self.break_disk(Faults(), None)
        self._armed.clear()
        if self._writer().failed:
            self._reopen()
        (submission,) = self._writer().append(["mended"])
        if self._writer().failed:
            self._reopen()
            (submission,) = self._writer().append(["mended, and opened again"])
        if submission.answer is not Answer.ACKNOWLEDGED:
            raise Violation(f"the disk works again, an append was {submission.answer.value}")

    def finish(self) -> None:
        """Close the writer cleanly, and check the log a last time."""
        self._armed.clear()
        if self.session is not None:
            self.session.close()
            self.session = None
        self.check()
        self._reached_boundary()

    def known(self) -> Known:
        """Return what is known at the moment."""
        return self.history.known_at(self.history.events)

    def check(self) -> None:
        """Read and check the whole log as it is visible now."""
        self.history.saw(check_log(read_log(self.disk), self.known()))

    def _survive(self, action: Callable[[], None]) -> None:
        """Run an action; restart if it ended in a crash or left a failed writer."""
        try:
            action()
        except (PowerLoss, Stuck):
            if not self.disk.is_gone:
                raise
        if self.disk.is_gone:
            self._restart()
        elif self.session is None or self.session.failed:
            self._survive(self._reopen)

    def _is_excused(self) -> bool:
        return self._was_broken or self.disk.faults.happened > 0

    # Operations.

    def _append(self, random: Random) -> None:
        self._writer().append(_texts(random))

    def _gather(self, random: Random) -> None:
        self._writer().append(*(_texts(random) for _ in range(random.randint(2, 5))))

    def _expected(self, random: Random) -> None:
        writer = self._writer()
        (submission,) = writer.append(_texts(random), expected=writer.log.end_offset)
        if submission.answer is Answer.REFUSED and not self._is_excused():
            raise Violation(f"{submission.number} expected the right end offset and was refused")

    def _mistaken(self, random: Random) -> None:
        writer = self._writer()
        wrong = writer.log.end_offset + random.choice((-1, 1))
        (submission,) = writer.append(_texts(random), expected=wrong)
        if submission.answer is Answer.ACKNOWLEDGED:
            raise Violation(f"{submission.number} expected a wrong end offset and was acknowledged")

    def _cancel(self, random: Random) -> None:
        batches = [_texts(random) for _ in range(random.randint(1, 4))]
        index = random.randrange(len(batches))
        self._writer().append_and_cancel(batches, index, random.randint(1, 4))

    def _repeat(self, random: Random) -> None:
        """Repeat an earlier request whose caller may not know its outcome."""
        requests = [one for one in self.history.submissions if one.origin is not None]
        if not requests:
            return
        writer = self._writer()
        request = random.choice(requests)
        held = {entry_of(batch).submission for batch in read_log(self.disk)}
        writer.append_again(request, is_in_log=request.number in held)

    def _oversize(self, random: Random) -> None:
        huge = ["x" * BATCH_SIZE_BYTES_MAX] if random.random() < 0.5 else [""] * _TOO_MANY
        _, refused, _ = self._writer().append(_texts(random), huge, _texts(random))
        if refused.answer is Answer.ACKNOWLEDGED:
            raise Violation(f"{refused.number} is too large and was acknowledged")

    def _fill(self, random: Random) -> None:
        self._writer().append(*([random.randbytes(300).hex()] for _ in range(3)))

    def _read(self, random: Random) -> None:
        self._arm(random, self._look)

    def _read_later(self, random: Random) -> None:
        if self._old_reader is not None:
            check_view(list(self._old_reader.batches()), self.known())
        # Where the start of a writer failed, a reader may have to wait for the next one.
        self._writer()
        self._old_reader = LogReader.open(LOG, fs=self.disk)

    def _wait(self, random: Random) -> None:
        self._writer().wait(random.choice((0.5, 2.0)))

    def _stop_and_start(self, random: Random) -> None:
        self._reopen()

    def _kill(self, random: Random) -> None:
        self._arm(random, lambda: self._crash(self.disk.visible()))
        self._gather(random)

    def _power_loss(self, random: Random) -> None:
        number = random.choice((0, 1, random.randrange(100)))
        seed = str(random.random())
        self._arm(random, lambda: self._crash(PowerLosses(self.disk, seed).state(number)))
        self._gather(random)

    def _takeover(self, random: Random) -> None:
        """Start another writer while this one works; then this one continues, and must stop."""
        stale = self._writer()
        failed: list[BaseException] = []
        self._arm(random, lambda: failed.extend(_failures_in_thread(self._open_by_force)))
        self._gather(random)
        # What the other process met is its own: the one that goes on must not be told.
        for error in failed:
            raise error
        if self.session is stale:
            self._armed.clear()
            self._open_by_force()
        (late,) = stale.append(_texts(random))
        if late.answer is Answer.ACKNOWLEDGED or not (stale.failed or self._is_excused()):
            raise Violation("a writer whose epoch has ended was not fenced")
        stale.must_not_answer(late)
        stale.close()
        self._append(random)
        self.check()

    # What they are made of.

    def _writer(self) -> Session:
        if self.session is None:
            self._open()
        assert self.session is not None
        return self.session

    def _open(self) -> None:
        try:
            session = Session(self.disk, self.history, self._clock)
        except (OSError, FencedError, UnavailableError) as error:
            if self.disk.is_locked:
                raise Violation(f"a start that failed keeps the lock: {error}") from error
            raise
        self.session = session
        self.check()

    def _open_by_force(self) -> None:
        self.disk.break_locks()
        self._open()

    def _reopen(self) -> None:
        if self.session is not None:
            self.session.close()
            self.session = None
        self._open()

    def _look(self) -> None:
        self.history.saw(check_view(read_log(self.disk), self.known()))

    def _arm(self, random: Random, action: Callable[[], None]) -> None:
        self._armed.setdefault(self.point + random.randrange(_BOUNDARIES_AHEAD), []).append(action)

    def _crash(self, state: DiskState) -> None:
        self._state_after_crash = state
        self.disk.is_gone = True
        raise PowerLoss

    def _restart(self) -> None:
        """Restart the writer on the state left by the crash."""
        if self.session is not None:
            self.session.die()
        self.session = self._old_reader = None
        self._armed.clear()
        self.disk = self._make_disk(self._state_after_crash)
        self._open()
        self.history.survived(check_log(read_log(self.disk), self.known()))

    def _make_disk(self, state: DiskState | None) -> SimulatedDisk:
        """Return a disk with this content, and with the faults and capacity of the one before."""
        disk = SimulatedDisk(state)
        disk.boundary = self._reached_boundary
        disk.trace = self.trace
        disk.faults, disk.capacity = self._faults, self._capacity
        return disk

    def _reached_boundary(self) -> None:
        if self._observe is not None:
            self._observe(self)
        self.point += 1
        for action in self._armed.pop(self.point - 1, []):
            action()


_TOO_MANY = BATCH_RECORDS_MAX + 1

_DO: dict[Kind, Callable[[Driver, Random], None]] = {
    Kind.APPEND: Driver._append,
    Kind.GATHER: Driver._gather,
    Kind.EXPECTED: Driver._expected,
    Kind.MISTAKEN: Driver._mistaken,
    Kind.CANCEL: Driver._cancel,
    Kind.REPEAT: Driver._repeat,
    Kind.OVERSIZE: Driver._oversize,
    Kind.FILL: Driver._fill,
    Kind.READ: Driver._read,
    Kind.READ_LATER: Driver._read_later,
    Kind.WAIT: Driver._wait,
    Kind.REOPEN: Driver._stop_and_start,
    Kind.KILL: Driver._kill,
    Kind.POWER_LOSS: Driver._power_loss,
    Kind.TAKEOVER: Driver._takeover,
}


def _texts(random: Random) -> list[str]:
    return [f"{random.random()}"[:6] for _ in range(random.choice((1, 1, 1, 2, 5)))]


def _failures_in_thread(action: Callable[[], None]) -> list[BaseException]:
    """Run an action in a thread, because this one runs an event loop; return its exceptions."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return failed
