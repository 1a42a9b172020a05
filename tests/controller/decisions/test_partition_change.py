"""One change of one partition: the fields that each step adds to the record, and no others."""

from typing import Any

import pytest
from msgspec.structs import replace

from controller.decisions.levels import METADATA_VERSION_NEWEST
from controller.decisions.partitions.directories import MIGRATING
from controller.decisions.partitions.leader_election import Election
from controller.decisions.partitions.partition_change import (
    RECOVERING,
    ChangeRules,
    PartitionChange,
)
from records.base import Uuid
from records.partitions import PartitionChangeRecord
from replay.image.partitions import NONE, READ_ONLY, Partition, changed

TOPIC_ID = Uuid(bytes([7] * 16))
DIRECTORY = Uuid(bytes([9] * 16))

PARTITION = Partition(
    topic_id=TOPIC_ID,
    partition_id=0,
    replicas=(1, 2, 3),
    isr=(1, 2, 3),
    removing_replicas=(),
    adding_replicas=(),
    leader=1,
    leader_recovery_state=0,
    leader_epoch=10,
    partition_epoch=20,
)


def _rules(*, down: tuple[int, ...] = (), **fields: Any) -> ChangeRules:
    settings: dict[str, Any] = {
        "metadata_version": METADATA_VERSION_NEWEST,
        "elr_enabled": False,
        "min_isr": 2,
        "acceptable": lambda broker, _: broker not in down,
        "default_directory": lambda _: DIRECTORY,
        "allows_unclean": lambda: False,
    }
    return ChangeRules(**settings | fields)


def _record(**fields: Any) -> PartitionChangeRecord:
    return PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, **fields)


def test_a_change_of_nothing_makes_no_record() -> None:
    assert PartitionChange(PARTITION, _rules()).build() is None


def test_a_smaller_isr_leaves_leader_and_leader_epoch_alone() -> None:
    change = PartitionChange(PARTITION, _rules())
    change.isr = (1, 2)
    record = change.build()
    assert record == _record(isr=(1, 2))
    assert changed(PARTITION, record).leader_epoch == 10
    assert changed(PARTITION, record).partition_epoch == 21


def test_before_level_12_a_smaller_isr_names_the_same_leader_again() -> None:
    change = PartitionChange(PARTITION, _rules(metadata_version=11))
    change.isr = (1, 2)
    record = change.build()
    assert record == _record(isr=(1, 2), leader=1)
    assert changed(PARTITION, record).leader_epoch == 11


def test_before_level_12_a_larger_isr_does_not_name_the_leader() -> None:
    change = PartitionChange(replace(PARTITION, isr=(1, 2)), _rules(metadata_version=11))
    change.isr = (1, 2, 3)
    assert change.build() == _record(isr=(1, 2, 3))


def test_a_leader_that_leaves_the_isr_is_replaced() -> None:
    change = PartitionChange(PARTITION, _rules(down=(1,)))
    change.isr = (2, 3)
    assert change.build() == _record(isr=(2, 3), leader=2)


def test_the_last_member_stays_in_the_isr_but_does_not_lead() -> None:
    change = PartitionChange(replace(PARTITION, isr=(1,)), _rules(down=(1,)))
    change.isr = ()
    assert change.build() == _record(leader=-1)


def test_an_unclean_leader_stands_alone_and_recovers() -> None:
    change = PartitionChange(replace(PARTITION, isr=(1,)), _rules(down=(1,)))
    change.election = Election.UNCLEAN
    assert change.build() == _record(isr=(2,), leader=2, leader_recovery_state=RECOVERING)


def test_before_level_3_nobody_is_said_to_recover() -> None:
    partition = replace(PARTITION, isr=(1,))
    change = PartitionChange(partition, _rules(down=(1,), metadata_version=2))
    change.election = Election.UNCLEAN
    assert change.build() == _record(isr=(2,), leader=2)


def test_a_partition_that_recovers_already_is_not_told_again() -> None:
    partition = replace(PARTITION, isr=(1,), leader_recovery_state=RECOVERING)
    change = PartitionChange(partition, _rules(down=(1,)))
    change.election = Election.UNCLEAN
    assert change.build() == _record(isr=(2,), leader=2)


def test_a_recovery_ends_when_asked() -> None:
    change = PartitionChange(replace(PARTITION, leader_recovery_state=RECOVERING), _rules())
    change.recovery_state = 0
    assert change.build() == _record(leader_recovery_state=0)


# Reassignment.

REASSIGNING = replace(
    PARTITION, replicas=(4, 2, 3, 1), adding_replicas=(4,), removing_replicas=(1,)
)


def test_a_reassignment_waits_until_the_new_replicas_are_in_sync() -> None:
    change = PartitionChange(replace(REASSIGNING, isr=(1, 2)), _rules())
    change.isr = (1, 2, 3)
    assert change.build() == _record(isr=(1, 2, 3))


def test_a_reassignment_is_completed_by_the_change_that_brings_the_last_replica_in() -> None:
    change = PartitionChange(REASSIGNING, _rules())
    change.isr = (1, 2, 3, 4)
    record = change.build()
    assert record is not None
    assert (record.isr, record.replicas) == ((2, 3, 4), (4, 2, 3))
    assert (record.adding_replicas, record.removing_replicas) == ((), ())
    assert record.leader == 4, "the old leader has left"


def test_a_replica_that_leaves_starts_a_new_leader_epoch_under_the_same_leader() -> None:
    partition = replace(REASSIGNING, leader=2)
    change = PartitionChange(partition, _rules())
    change.isr = (1, 2, 3, 4)
    record = change.build()
    assert record is not None and record.leader == 2
    assert changed(partition, record).leader_epoch == 11


def test_replicas_that_are_only_put_into_another_order_start_no_leader_epoch() -> None:
    change = PartitionChange(PARTITION, _rules())
    change.replicas = (3, 2, 1)
    assert change.build() == _record(replicas=(3, 2, 1))


# Directories.


def test_a_new_replica_gets_a_directory_and_the_others_keep_theirs() -> None:
    known = (Uuid(b"a" * 16), Uuid(b"b" * 16), Uuid(b"c" * 16))
    change = PartitionChange(replace(PARTITION, directories=known), _rules())
    change.replicas, change.adding = (1, 2, 3, 4), (4,)
    record = change.build()
    assert record is not None
    assert record.directories == (*known, DIRECTORY)


def test_unknown_directories_stay_unknown_where_nothing_moves() -> None:
    change = PartitionChange(PARTITION, _rules())
    change.isr = (1, 2)
    record = change.build()
    assert record is not None and record.directories is None
    change = PartitionChange(PARTITION, _rules())
    change.replicas = (1, 2, 4)
    record = change.build()
    assert record is not None and record.directories == (MIGRATING, MIGRATING, DIRECTORY)


def test_before_level_17_no_directories_are_written() -> None:
    change = PartitionChange(PARTITION, _rules(metadata_version=16))
    change.replicas, change.adding = (1, 2, 3, 4), (4,)
    record = change.build()
    assert record is not None and record.directories is None


# Modes.


def test_a_partition_of_mode_none_goes_offline_and_keeps_its_isr() -> None:
    change = PartitionChange(PARTITION, _rules())
    change.mode = NONE
    assert change.build() == _record(mode=NONE, leader=-1)


def test_a_read_only_partition_keeps_its_leader() -> None:
    change = PartitionChange(PARTITION, _rules())
    change.mode = READ_ONLY
    assert change.build() == _record(mode=READ_ONLY)


@pytest.mark.parametrize("election", list(Election))
def test_a_partition_of_mode_none_is_never_elected_a_leader(election: Election) -> None:
    change = PartitionChange(replace(PARTITION, leader=-1, mode=NONE), _rules())
    change.election = election
    assert change.build() is None


# Eligible leader replicas.


def test_who_leaves_an_isr_below_the_minimum_stays_eligible() -> None:
    change = PartitionChange(PARTITION, _rules(elr_enabled=True))
    change.isr = (1,)
    assert change.build() == _record(isr=(1,), eligible_leader_replicas=(2, 3))


def test_nobody_is_eligible_while_the_isr_reaches_the_minimum() -> None:
    partition = replace(PARTITION, isr=(1,), eligible_leader_replicas=(2, 3))
    change = PartitionChange(partition, _rules(elr_enabled=True))
    change.isr = (1, 2)
    assert change.build() == _record(isr=(1, 2), eligible_leader_replicas=())


def test_the_minimum_is_never_more_than_there_are_replicas() -> None:
    partition = replace(PARTITION, replicas=(1, 2), isr=(1, 2))
    change = PartitionChange(partition, _rules(elr_enabled=True, min_isr=5))
    assert change.build() is None


def test_a_replica_that_lost_its_memory_is_not_eligible() -> None:
    change = PartitionChange(PARTITION, _rules(elr_enabled=True, down=(2,)))
    change.isr, change.unclean_shutdown = (1,), (2,)
    assert change.build() == _record(isr=(1,), eligible_leader_replicas=(3,))


def test_with_eligible_replicas_the_isr_may_run_empty_and_the_last_leader_is_remembered() -> None:
    partition = replace(PARTITION, isr=(1,))
    change = PartitionChange(partition, _rules(elr_enabled=True, down=(1, 2, 3)))
    change.isr = ()
    assert change.build() == _record(
        isr=(), leader=-1, eligible_leader_replicas=(1,), last_known_elr=(1,)
    )


def test_when_nobody_led_who_was_in_sync_last_is_remembered() -> None:
    partition = replace(PARTITION, isr=(2,), leader=-1)
    change = PartitionChange(partition, _rules(elr_enabled=True, down=(1, 2, 3)))
    change.isr = ()
    change.unclean_shutdown = (2,)
    assert change.build() == _record(isr=(), last_known_elr=(2,))


def test_an_eligible_replica_becomes_leader_and_isr_when_the_isr_is_empty() -> None:
    partition = replace(
        PARTITION, isr=(), leader=-1, eligible_leader_replicas=(2, 3), last_known_elr=(1,)
    )
    change = PartitionChange(partition, _rules(elr_enabled=True, down=(1, 3)))
    assert change.build() == _record(
        isr=(2,), leader=2, eligible_leader_replicas=(3,), last_known_elr=()
    )


def test_the_last_known_leader_comes_back_uncleanly() -> None:
    partition = replace(PARTITION, isr=(), leader=-1, last_known_elr=(3,))
    change = PartitionChange(partition, _rules(elr_enabled=True))
    assert change.build() == _record(
        isr=(3,), leader=3, leader_recovery_state=RECOVERING, last_known_elr=()
    )


def test_the_last_known_leader_is_not_forgotten_while_nobody_leads() -> None:
    partition = replace(
        PARTITION, isr=(), leader=-1, eligible_leader_replicas=(2,), last_known_elr=(1,)
    )
    change = PartitionChange(partition, _rules(elr_enabled=True, down=(1, 2, 3)))
    assert change.build() is None


def test_an_unclean_election_leaves_nobody_eligible() -> None:
    partition = replace(PARTITION, isr=(), leader=-1, eligible_leader_replicas=(2,))
    change = PartitionChange(partition, _rules(elr_enabled=True, down=(1, 2)))
    change.election = Election.UNCLEAN
    record = change.build()
    assert record is not None
    assert (record.leader, record.isr, record.eligible_leader_replicas) == (3, (3,), ())


def test_switching_the_feature_off_clears_who_was_eligible() -> None:
    partition = replace(PARTITION, eligible_leader_replicas=(2,))
    assert PartitionChange(partition, _rules()).build() == _record(eligible_leader_replicas=())
