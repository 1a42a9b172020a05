"""A writer that takes over an empty segment replaces its header by one of another length."""

import errno

import pytest

from metadata_log.writer.creation import create_log
from records.errors import UnavailableError
from tests.simulated_disk.disk import SimulatedDisk
from tests.simulated_disk.faults import Fault, Faults
from tests.simulated_disk.history import History
from tests.simulated_disk.session import CLUSTER_ID, LOG, Session, StepClock, read_log


def test_crash_while_epoch_10_replaces_the_empty_segment_of_epoch_9_loses_nothing() -> None:
    disk = SimulatedDisk()
    create_log(LOG, CLUSTER_ID, fs=disk)
    for _ in range(9):
        disk.faults = Faults(Fault(1, None, errno.ENOSPC, frozenset({"create"})))
        with pytest.raises(UnavailableError):
            Session(disk, History(), StepClock())
    disk.faults = Faults()
    states = []
    disk.boundary = lambda: states.append(disk.after_power_loss({}))
    Session(disk, History(), StepClock())
    assert len(states) > 10
    for state in states:
        read_log(SimulatedDisk(state))
        after_crash = SimulatedDisk(state)
        Session(after_crash, History(), StepClock())
        read_log(after_crash)
