"""`why` of fields that are set by a record of their own."""

from pathlib import Path

from tests.api.conftest import Metalog


def test_value_that_came_with_a_moved_topic_has_the_record_that_set_it(
    metalog: Metalog, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    for args in (
        ("init", log),
        ("brokers", "register", 1, "--log", log),
        ("brokers", "unfence", 1, "--log", log),
        ("namespaces", "create", "org", "--log", log),
        ("topics", "create", "a", "--assignment", "1", "--config", "flush.ms=5", "--log", log),
        ("namespaces", "move", "--from", "", "--to", "org", "--topic", "a", "--log", log),
    ):
        answer = metalog(*args)
        assert answer.code == 0, answer.err
    name = "config:topic/org:a#flush.ms"
    chain = metalog("why", log, name, "--json").json["chain"]
    assert [link["type"] for link in chain] == ["MoveTopicRecord", "ConfigRecord"]
    assert [link["text"] for link in chain] == ["flush.ms: - -> 5", "flush.ms: 5"]
    last_set = metalog("blame", log, name, "--json").json["fields"]["flush.ms"]
    assert chain[1]["offset"] == last_set["offset"]
