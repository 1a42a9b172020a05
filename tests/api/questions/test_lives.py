"""The lives of a topic's name."""

from pathlib import Path

import pytest

from tests.api.conftest import Metalog
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.incidents.real import imported


def test_name_that_came_back_has_two_lives(
    metalog: Metalog, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = tmp_path_factory.mktemp("lives") / "log"
    assert metalog("init", log).code == 0
    for broker in (1, 2):
        assert metalog("brokers", "register", broker, "--log", log).code == 0
        assert metalog("brokers", "unfence", broker, "--log", log).code == 0
    create = ["topics", "create", "orders", "--assignment", "1:2,2:1", "--log", log]
    assert metalog(*create, "--as", "User:ann").code == 0
    delete = ["topics", "delete", "orders", "--log", log, "--as", "User:bob"]
    assert metalog(*delete).code == 0
    assert metalog("namespaces", "create", "org", "--log", log).code in (0, 3)
    assert metalog(*create, "--as", "User:carol").code == 0
    first, second = metalog("topics", "lives", "orders", "--log", log, "--json").json["lives"]
    assert first["topic_id"] != second["topic_id"]
    assert (first["partitions"], second["partitions"]) == (2, 2)
    assert first["began"]["origin"]["principal"] == "User:ann"
    assert (first["ended"]["how"], first["ended"]["origin"]["principal"]) == ("deleted", "User:bob")
    assert (second["began"]["origin"]["principal"], second["ended"]) == ("User:carol", None)


def test_a_pattern_shows_the_names_that_came_back(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    """As many as one finds by asking for each name that ever was."""
    rows = metalog("history", demo_log, "topic:*", "--json").lines
    names = {row["object"].removeprefix("topic:") for row in rows if "object" in row}
    each = {
        name: metalog("topics", "lives", name, "--log", demo_log, "--json").json["lives"]
        for name in sorted(names)
    }
    came_back = [life for lives in each.values() if len(lives) > 1 for life in lives]
    assert {life["name"] for life in came_back} == {"shop:stock:ledger.events.v1"}
    found = metalog("topics", "lives", "*", "--log", demo_log, "--json").json["lives"]
    assert found == came_back
    printed = metalog("topics", "lives", "shop:*", "--log", demo_log).out.splitlines()
    assert [line.split()[0] for line in printed] == ["topic", *[life["name"] for life in came_back]]
    none = metalog("topics", "lives", "__*", "--log", demo_log, "--json")
    assert (none.code, none.json["lives"]) == (0, [])
    absent = metalog("topics", "lives", "nothing*", "--log", demo_log)
    assert absent.code == 3
    assert "no topic matches topic:nothing*" in absent.err


@each_data_set_where(lambda each: str(each) == "log4j2-migration-removetopic/data")
def test_lives_in_a_real_log(
    data_set: DataSet, tmp_path_factory: pytest.TempPathFactory, metalog: Metalog
) -> None:
    """By hand: the topic that is removed at 327 was created at 191 or 214."""
    path = tmp_path_factory.mktemp("real")
    rows = [row for segment in data_set.segments for row in segment.oracle()]
    (removed,) = [row for row in rows if row["type"] == "RemoveTopicRecord"]
    topic_id = removed["data"]["topicId"]
    (created,) = [
        row for row in rows if row["type"] == "TopicRecord" and row["data"]["topicId"] == topic_id
    ]
    name = created["data"]["name"]
    log = imported(data_set, path)
    (life,) = metalog("topics", "lives", name, "--log", log, "--json").json["lives"]
    assert (removed["offset"], life["ended"]["offset"]) == (327, 327)
    assert (life["topic_id"], life["began"]["offset"]) == (topic_id, created["offset"])
