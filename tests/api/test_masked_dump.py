"""`dump --mask-hosts` prints records without host names and otherwise unchanged."""

from pathlib import Path
from typing import Any

from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.configs import ConfigRecord
from records.security import AccessControlEntryRecord
from tests.api.conftest import Metalog
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.builders import uid
from tests.replay.incidents.real import imported

of_three_nodes = each_data_set_where(lambda each: str(each) == "kafka-raft-3node-33/data_kafka3")


@of_three_nodes
def test_no_host_of_a_real_log_is_printed_and_all_else_is(
    metalog: Metalog, tmp_path: Path, data_set: DataSet
) -> None:
    log = imported(data_set, tmp_path)
    rows = [row for segment in data_set.segments for row in segment.oracle()]
    hosts = {end["host"] for row in rows for end in row["data"].get("endPoints", ())}
    assert len(hosts) == 6
    plain, masked = metalog("dump", log, "--json"), metalog("dump", log, "--mask-hosts", "--json")
    assert all(host in plain.out for host in hosts)
    assert not any(host in masked.out for host in hosts)
    assert [without_hosts(row) for row in masked.lines] == [
        without_hosts(row) for row in plain.lines
    ]
    stand_ins = {end["host"] for row in masked.lines for end in ends_of(row)}
    assert stand_ins == {f"host-{number}" for number in range(1, 7)}
    text = metalog("dump", log, "--mask-hosts", "--type", "RegisterBrokerRecord").out
    assert "host-1" in text
    assert not any(host in text for host in hosts)


def ends_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = row["data"].get("end_points", [])
    return found


def without_hosts(row: dict[str, Any]) -> dict[str, Any]:
    ends = [{**end, "host": None} for end in ends_of(row)]
    return {**row, "data": {**row["data"], "end_points": ends}}


async def test_hosts_of_acls_and_configs_are_masked_wherever_they_stand(
    metalog: Metalog, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    create_log(log, "c")
    listeners = ConfigRecord(
        resource_type=4,
        resource_name="1",
        name="advertised.listeners",
        value="PLAINTEXT://kafka-7.corp.example:9092",
    )
    acl = AccessControlEntryRecord(
        id=uid("acl"),
        resource_type=2,
        resource_name="kafka-7.corp.example",
        pattern_type=3,
        principal="User:ann",
        host="10.20.30.40",
        operation=3,
        permission_type=3,
    )
    writer = await MetadataLog.open(log)
    await writer.append(NewBatch(records=(acl, listeners)))
    await writer.close()
    text = metalog("dump", log, "--mask-hosts").out
    assert "kafka-7" not in text
    assert "10.20" not in text
    assert "value=PLAINTEXT://host-2:9092" in text
    assert "resource_name=host-2" in text
    assert "host=host-1" in text
