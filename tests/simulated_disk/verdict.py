"""The check of one crash state: start a writer on it, and read the log."""

from metadata_log.files.file_publish import SoleOwner
from metadata_log.format.commit_mark import read_mark
from metadata_log.recovery.recovery import recover
from records.errors import RequestError
from tests.simulated_disk.disk import DiskState, SimulatedDisk
from tests.simulated_disk.expectations import Violation, check_log, check_view, entry_of
from tests.simulated_disk.history import Answer, History, Known
from tests.simulated_disk.session import LOG, Session, StepClock, read_log


def judge(state: DiskState, known: Known, *, is_created: bool = True, extra: bool = True) -> None:
    """Start a writer on a crash state, append, read everything, and compare.

    Args:
        is_created: True if the log was created before the crash; otherwise there may be no log.
        extra: Also read before a writer has started, and recover twice, comparing the bytes.

    Raises:
        Violation: a promise is broken; so is any error except the refusal of a log that was never
            created.
    """
    try:
        if extra and is_created:
            _read_only(state, known)
            _recover_twice(state)
        _start_and_read(state, known)
    except RequestError as error:
        if is_created or error.code != "LOG_NOT_FOUND":
            raise Violation(f"RequestError: {error}") from error
    except Violation:
        raise
    except Exception as error:
        raise Violation(f"{type(error).__name__}: {error}") from error


def _read_only(state: DiskState, known: Known) -> None:
    check_view(read_log(SimulatedDisk(state)), known)


def _recover_twice(state: DiskState) -> None:
    disk = SimulatedDisk(state)
    recover(disk, LOG, read_mark(disk, LOG), SoleOwner())
    once = disk.visible()
    recover(disk, LOG, read_mark(disk, LOG), SoleOwner())
    for path, content in disk.visible().items():
        if once.get(path) != content:
            raise Violation(f"recovering again changed {path}")


def _start_and_read(state: DiskState, known: Known) -> None:
    disk = SimulatedDisk(state)
    after = History()
    clock = StepClock()
    clock.time_ms += 10_000_000
    session = Session(disk, after, clock)
    (probe,) = session.append(["probe"])
    if probe.answer is not Answer.ACKNOWLEDGED:
        raise Violation(f"after the crash an append was answered {probe.answer.value}")
    batches = read_log(disk)
    if len(batches) < 2:
        raise Violation(f"an epoch was begun and a batch appended, a reader sees {len(batches)}")
    check_log(batches[:-2], known)
    leader, last = batches[-2:]
    epoch = session.log.leader_epoch
    if epoch <= max([known.epoch_floor(), *(batch.leader_epoch for batch in batches[:-2])]):
        raise Violation(f"epoch {epoch} was used before")
    assert probe.result is not None
    if last.base_offset != probe.result.base_offset or last.leader_epoch != epoch:
        raise Violation(f"{entry_of(last)} is not what was appended after the crash")
    if entry_of(leader).submission is not None or leader.leader_epoch != epoch:
        raise Violation(f"{entry_of(leader)} is not the leader change of epoch {epoch}")
