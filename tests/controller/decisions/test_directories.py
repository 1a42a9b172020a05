"""Log directories: placement of new replicas, online directories, reserved ids."""

import pytest

from controller.decisions.brokers.directory_assignment import AssignReplicas, assign_replicas
from controller.decisions.levels import DIRECTORIES_LEVEL, METADATA_VERSION
from controller.decisions.partitions.directories import (
    LOST,
    MIGRATING,
    UNASSIGNED,
    default_directory,
    is_online,
    is_reserved,
)
from records.base import Uuid
from replay.image.cluster import Broker
from tests.controller.cluster import Cluster, directory
from tests.replay.builders import broker, image_of


def _broker(*log_dirs: Uuid) -> Broker:
    found = image_of(broker(1, log_dirs=log_dirs)).broker(1)
    assert found is not None
    return found


def test_a_new_replica_goes_to_the_only_directory_or_the_broker_chooses() -> None:
    first, second = directory(1), directory(2)
    assert default_directory(_broker()) == MIGRATING
    assert default_directory(_broker(first)) == first
    assert default_directory(_broker(first, second)) == UNASSIGNED


def test_a_lost_directory_is_never_online_and_an_unknown_one_not_where_all_are_named() -> None:
    first, second = directory(1), directory(2)
    for log_dirs in ((), (first,)):
        assert not is_online(_broker(*log_dirs), LOST)
        assert is_online(_broker(*log_dirs), MIGRATING)
        assert is_online(_broker(*log_dirs), UNASSIGNED)
        assert is_online(_broker(*log_dirs), first)
    assert is_online(_broker(), second)
    assert not is_online(_broker(first), second)


@pytest.mark.parametrize(("number", "expected"), [(0, True), (2, True), (99, True), (100, False)])
def test_the_first_100_ids_are_reserved(number: int, expected: bool) -> None:
    assert is_reserved(Uuid(number.to_bytes(16))) is expected


@pytest.mark.parametrize(
    ("level", "error"), [(DIRECTORIES_LEVEL - 1, "UNSUPPORTED_VERSION"), (DIRECTORIES_LEVEL, None)]
)
def test_a_report_of_directories_needs_a_level(level: int, error: str | None) -> None:
    cluster = Cluster({METADATA_VERSION: level})
    report = AssignReplicas(broker_id=1, broker_epoch=cluster.register(1), replicas=())
    if error is None:
        assert cluster.do(assign_replicas, report) == ()
    else:
        assert cluster.refused(assign_replicas, report).code == error
