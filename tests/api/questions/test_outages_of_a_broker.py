"""outages --broker: the broker, the partitions that waited for it, and those that it led."""

from pathlib import Path

from tests.api.conftest import Metalog
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.incidents.real import imported


@each_data_set_where(
    lambda each: (each.name, each.node) == ("ogs59-3node-history", "data_kafka-2"),
    is_heavy=lambda _: False,
)
def test_partitions_that_a_broker_leads_and_whose_followers_are_missed_are_its_outages(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    """At the end all three brokers are up, and each ISR has only its leader."""
    log = imported(data_set, tmp_path)
    partitions = metalog("partitions", "list", "--log", log, "--json").json["partitions"]
    led = {
        f"partition:{each['topic']}/{each['partition']}"
        for each in partitions
        if each["leader"] == 3
    }
    assert led
    found = metalog("outages", log, "--broker", 3, "--json").json["intervals"]
    lasting = [each for each in found if each["to_offset"] is None]
    assert {each["object"] for each in lasting} >= led
    assert {each["leaders"][-1] for each in lasting if each["object"] in led} == {3}
    for each in found:
        assert each["object"] == "broker:3" or 3 in (*each["brokers"], *each["leaders"])
    help_ = " ".join(metalog("outages", "--help").out.replace("│", " ").split())
    assert "partitions that waited for it, or that it led during the outage or until then" in help_
