"""A bucket that has lost a group of the shared log, though it has later ones."""

from collections.abc import Iterator

import pytest

from api.nodes.repair import fill_gaps, missing
from metadata_log.shared.bucket_groups import group_name
from records.errors import CorruptLogError
from tests.simulated_disk.disk import SimulatedDisk
from tests.simulated_nodes.bucket import SimulatedBucket
from tests.simulated_nodes.machine import DIRECTORY
from tests.simulated_nodes.schedule import Schedule


@pytest.fixture
def schedule() -> Iterator[Schedule]:
    """Run nodes over a bucket, which loses a group that all of them have."""
    schedule = Schedule(1)
    assert isinstance(schedule.store, SimulatedBucket)
    with schedule.running():
        schedule.loop.advance(3.0)
        del schedule.store.objects[group_name(5)]
        yield schedule


def test_nodes_that_have_its_records_go_on(
    schedule: Schedule, caplog: pytest.LogCaptureFixture
) -> None:
    schedule.loop.advance(3.0)
    (leader,) = [node for node in schedule.nodes if node.leads]
    leader.end(loses_power=False)
    leader.start()
    schedule.loop.advance(10.0)
    assert [node.problem() for node in schedule.nodes] == [None, None, None]
    end_offset = schedule.checks.committed_end()
    schedule.loop.advance(5.0)
    assert schedule.checks.committed_end() > end_offset
    assert "Traceback" not in caplog.text


def test_a_node_without_its_records_ends_until_they_are_put_back(schedule: Schedule) -> None:
    standby = next(node for node in schedule.nodes if not node.leads)
    standby.end(loses_power=False)
    standby.disk = SimulatedDisk()
    standby.start()
    schedule.loop.advance(3.0)
    problem = standby.problem()
    assert isinstance(problem, CorruptLogError)
    assert "group 5 of the shared log is missing in s3://" in str(problem)
    assert "`metalog nodes repair LOG --shared URL`" in str(problem)
    whole = next(node for node in schedule.nodes if node.leads)

    async def repair() -> None:
        gaps = await missing(whole.log, DIRECTORY, whole.disk)
        await fill_gaps(whole.log, DIRECTORY, gaps, whole.disk)

    repaired = schedule.loop.create_task(repair())
    schedule.loop.advance(3.0)
    repaired.result()
    standby.start()
    schedule.loop.advance(3.0)
    assert standby.problem() is None
    assert standby.service is not None
