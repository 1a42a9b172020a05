"""What `why` says beside the chain."""

from pathlib import Path

from tests.api.conftest import Metalog
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.incidents.real import imported


@each_data_set_where(
    lambda each: each.name == "indus-rig-removetopic-snapshots", is_heavy=lambda _: False
)
def test_an_unclean_election_of_the_only_replica_lost_no_records_that_another_had(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    log = imported(data_set, tmp_path)
    told = metalog("why", log, "partition:test-topic/0").out.splitlines()
    assert told[1] == (
        "  the last election was unclean: no other replica exists, but records that were not on "
        "disk may be lost"
    )
    assert told[told.index("newest first:") + 1].startswith("    3602 ")
    level = metalog("why", log, "feature:metadata.version").out.splitlines()
    assert level[0].startswith("feature:metadata.version#level is 29 (4.2-IV1) at ")
    assert level[-1] == "          level: - -> 29 (4.2-IV1)"
    assert "newest first:" not in level, "it is only one record"
    timeline = metalog("timeline", log, "--to", 10).out
    assert "feature metadata.version is 29 (4.2-IV1), feature eligible" in timeline
    json = metalog("why", log, "feature:metadata.version", "--json").json
    assert json["value"] == 29
