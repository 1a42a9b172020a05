"""The check of a log notices each broken promise."""

from collections.abc import Callable

import msgspec
import pytest

from metadata_log.format.batch import Batch
from tests.simulated_disk.driver import Driver
from tests.simulated_disk.expectations import Violation, check_log, entry_of
from tests.simulated_disk.history import Answer
from tests.simulated_disk.session import read_log
from tests.simulated_disk.workload import Kind, Operation

Change = Callable[[list[Batch]], list[Batch]]


@pytest.fixture
def driver() -> Driver:
    """A log of two epochs, with a few acknowledged batches in each."""
    driver = Driver()
    driver.start()
    for at, kind in enumerate([Kind.APPEND, Kind.APPEND, Kind.REOPEN, Kind.APPEND, Kind.GATHER]):
        driver.run(Operation(kind, str(at)))
    return driver


def _without(index: int) -> Change:
    return lambda batches: batches[:index] + batches[index + 1 :]


def _swapped(batches: list[Batch]) -> list[Batch]:
    return [batches[0], batches[2], batches[1], *batches[3:]]


def _repeated(batches: list[Batch]) -> list[Batch]:
    end = batches[-1].end_offset
    size = batches[-1].end_offset - batches[-1].base_offset
    again = msgspec.structs.replace(batches[-1], base_offset=end, end_offset=end + size)
    return [*batches, again]


def _in_part(batches: list[Batch]) -> list[Batch]:
    last = batches[-1]
    return [*batches[:-1], msgspec.structs.replace(last, rows=last.rows[:1] * (len(last.rows) + 1))]


def _of_another_epoch(batches: list[Batch]) -> list[Batch]:
    return [*batches[:-1], msgspec.structs.replace(batches[-1], leader_epoch=9)]


def test_log_as_it_is_keeps_every_promise(driver: Driver) -> None:
    batches = read_log(driver.disk)
    assert check_log(batches, driver.known()) == [entry_of(batch) for batch in batches]
    assert len(batches) > 5


@pytest.mark.parametrize(
    "change",
    [_without(-1), _without(1), _without(0), _swapped, _repeated, _in_part, _of_another_epoch],
    ids=["last lost", "one lost", "leader lost", "swapped", "repeated", "in part", "other epoch"],
)
def test_broken_promise_is_noticed(driver: Driver, change: Change) -> None:
    with pytest.raises(Violation):
        check_log(change(read_log(driver.disk)), driver.known())


def test_batch_that_nobody_submitted_is_a_phantom(driver: Driver) -> None:
    batches = read_log(driver.disk)
    del driver.history.submissions[-1]
    with pytest.raises(Violation, match="a phantom"):
        check_log(batches, driver.known())


def test_batch_that_was_refused_must_not_be_there(driver: Driver) -> None:
    driver.history.answered(driver.history.submissions[-1], Answer.REFUSED)
    with pytest.raises(Violation, match="was refused"):
        check_log(read_log(driver.disk), driver.known())


def test_unknown_outcome_may_be_there_or_not_until_it_was_seen(driver: Driver) -> None:
    batches = read_log(driver.disk)
    driver.history.answered(driver.history.submissions[-1], Answer.UNKNOWN)
    check_log(batches, driver.known())
    check_log(batches[:-1], driver.known())
    driver.check()
    with pytest.raises(Violation, match="it is gone"):
        check_log(batches[:-1], driver.known())


def test_batch_that_was_gone_after_a_crash_must_not_come_back(driver: Driver) -> None:
    batches = read_log(driver.disk)
    driver.history.answered(driver.history.submissions[-1], Answer.UNKNOWN)
    driver.history.survived([entry_of(batch) for batch in batches[:-1]])
    with pytest.raises(Violation, match="was gone after a crash"):
        check_log(batches, driver.known())


def test_only_what_was_known_at_the_crash_counts(driver: Driver) -> None:
    batches = read_log(driver.disk)
    last = driver.history.submissions[-1]
    check_log(batches[:-1], driver.history.known_at(last.submitted_at))
    with pytest.raises(Violation, match="is lost"):
        check_log(batches[:-1], driver.history.known_at(last.answered_at))
    with pytest.raises(Violation, match="a phantom"):
        check_log(batches, driver.history.known_at(last.submitted_at - 1))
