"""What the page says was lost by an unclean election."""

from pathlib import Path

from tests.api.conftest import Metalog
from tests.api.report.conftest import Opened
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.incidents.real import imported

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
