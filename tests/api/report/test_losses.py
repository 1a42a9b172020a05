"""What the page says was lost by an unclean election."""

import asyncio
from pathlib import Path

from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.brokers import FenceBrokerRecord
from replay.image.partitions import NONE
from tests.api.conftest import Metalog
from tests.api.report.conftest import Opened
from tests.browser import apart
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.builders import broker, change, partition, topic
from tests.replay.incidents.real import imported

_REMOVED = """async () => {
  const { mayBeLost } = await import("report/losses.js"), { data } = report;
  const { outagesOf } = await import("report/outages.js");
  const { endsOf } = await import("report/ends.js");
  const outages = outagesOf(data, data.find("partition:x/1", data.rows - 1), [1]);
  return [mayBeLost(data, outages), endsOf(data, outages).map((each) => each.text)];
}"""

_LOST = """async () => {
  const { mayBeLost } = await import("report/losses.js"), { data } = report;
  const { outagesOf } = await import("report/outages.js");
  const object = data.find("partition:test-topic/0", data.rows - 1);
  return mayBeLost(data, outagesOf(data, object, [1]));
}"""


@each_data_set_where(
    lambda each: each.name == "indus-rig-removetopic-snapshots", is_heavy=lambda _: False
)
def test_an_unclean_election_of_the_only_replica_lost_no_records_that_another_had(
    metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path
) -> None:
    log, file = imported(data_set, tmp_path), tmp_path / "report.html"
    assert metalog("report", log, file).code == 0
    assert opened(file).evaluate(_LOST) == [
        "1 partition got a leader by an unclean election: no other replica exists, but records "
        "that were not on disk may be lost."
    ]


def test_a_partition_that_is_taken_offline_while_it_has_no_leader_is_not_told_as_elected(
    metalog: Metalog, opened: Opened, tmp_path: Path
) -> None:
    log, file = tmp_path / "log", tmp_path / "report.html"
    apart(asyncio.run, _write_removal_of_what_is_down(log))
    assert metalog("report", log, file).code == 0
    assert opened(file).evaluate(_REMOVED) == [
        ["1 partition was taken offline to be removed, as was asked, with its records."],
        ["taken offline for removal"],
    ]


async def _write_removal_of_what_is_down(directory: Path) -> None:
    create_log(directory, "removal")
    held = {"replicas": (1,), "isr": (1,)}
    log = await MetadataLog.open(directory)
    for records in (
        (broker(1, fenced=False), topic("x"), *[partition("x", each, **held) for each in (0, 1)]),
        (*[change("x", each, leader=-1) for each in (0, 1)], FenceBrokerRecord(id=1, epoch=10)),
        (change("x", 1, mode=NONE),),
    ):
        await log.append(NewBatch(records=records))
    await log.close()
