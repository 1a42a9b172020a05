"""namespaces create, list, delete, move."""

from pathlib import Path

import pytest

from tests.api.conftest import Metalog


def names(metalog: Metalog, log: Path, *arguments: object) -> list[str]:
    found = metalog("namespaces", "list", *arguments, "--log", log, "--json").json["namespaces"]
    return [namespace["name"] for namespace in found]


def topics(metalog: Metalog, log: Path) -> dict[str, str]:
    found = metalog("topics", "list", "--log", log, "--json").json["topics"]
    return {topic["name"]: topic["topic_id"] for topic in found}


def test_every_missing_tier_is_created(metalog: Metalog, log: Path) -> None:
    answer = metalog("namespaces", "create", "org:apache:kafka:streams", "--log", log)
    assert answer.out.splitlines()[:2] == [
        "created namespace org:apache:kafka",
        "created namespace org:apache:kafka:streams",
    ]
    assert names(metalog, log, "org:apache") == [
        "org:apache:kafka",
        "org:apache:kafka:streams",
    ]


def test_namespaces_are_listed_with_their_topics(metalog: Metalog, log: Path) -> None:
    metalog("topics", "create", "a", "--namespace", "org:apache", "--log", log)
    listed = metalog("namespaces", "list", "--log", log, "--json").json["namespaces"]
    assert [(n["name"], n["topics"]) for n in listed] == [("org", 0), ("org:apache", 1)]
    assert len(metalog("namespaces", "list", "--log", log).out.splitlines()) == 3


def test_list_shows_use_against_limits(metalog: Metalog, log: Path) -> None:
    metalog("topics", "create", "org:apache:a", "--assignment", "1,1", "--log", log)
    limits = ("namespace.max.topics=5", "namespace.max.mutations.per.second=0.5")
    metalog("configs", "set", "namespace/org", *limits, "--log", log)
    org, apache = metalog("namespaces", "list", "--log", log, "--json").json["namespaces"]
    assert org["use"] == apache["use"] == {"topics": 1, "partitions": 2}
    assert org["limits"] == {"topics": 5, "partitions": None, "mutations_per_second": 0.5}
    assert set(apache["limits"].values()) == {None}
    header, first, second = metalog("namespaces", "list", "--log", log).out.splitlines()
    assert header.split()[-3:] == ["all", "topics", "partitions"]
    assert first.split()[-4:] == ["1", "of", "5", "2"]
    assert second.split()[-2:] == ["1", "2"]


def test_namespace_with_children_is_deleted_only_recursively(metalog: Metalog, log: Path) -> None:
    metalog("topics", "create", "org:apache:a", "--log", log)
    refused = metalog("namespaces", "delete", "org", "--log", log)
    assert (refused.code, "'org:apache'" in refused.err) == (3, True)
    gone = metalog("namespaces", "delete", "org", "--recursive", "--log", log, "--json").json
    assert gone["results"] == [
        {"topic": "org:apache:a", "error": None},
        {"namespace": "org:apache", "error": None},
        {"namespace": "org", "error": None},
    ]
    assert names(metalog, log) == []
    assert sorted(topics(metalog, log)) == ["clicks", "orders"]


def test_deletion_and_its_rehearsal_list_what_goes(metalog: Metalog, log: Path) -> None:
    metalog("topics", "create", "org:a", "--config", "retention.ms=5", "--log", log)
    acl = ["--namespace", "org", "--principal", "User:ann", "--operation", "read"]
    metalog("acls", "create", *acl, "--log", log)
    delete = ["namespaces", "delete", "org", "--recursive", "--log", log]
    rehearsed = metalog(*delete, "--validate-only")
    assert rehearsed.out.splitlines()[:5] == [
        "can delete topic org:a",
        "can delete namespace org:apache",
        "can delete namespace org",
        "can delete 1 partition",
        "can delete retention.ms of topic/org:a",
    ]
    assert "allow User:ann READ on namespace:org" in rehearsed.out
    gone = metalog(*delete, "--json").json
    assert (gone["partitions"], len(gone["acls"])) == (1, 1)
    assert gone["configs"] == [{"resource": "topic/org:a", "names": ["retention.ms"]}]
    assert metalog("acls", "list", "--log", log, "--json").json["acls"] == []


def test_move_and_its_rehearsal_say_what_changes(metalog: Metalog, log: Path) -> None:
    metalog("configs", "set", "namespace/org", "retention.ms=5", "--log", log)
    metalog("subscriptions", "register", "auditors", "org:.*", "--log", log)
    move = ["namespaces", "move", "--from", "", "--to", "org", "--log", log]
    rehearsed = metalog(*move, "--validate-only").out.splitlines()
    assert rehearsed == [
        "can move clicks to org",
        "can move orders to org",
        "  clients that use the old names get UNKNOWN_TOPIC_OR_PARTITION; those that use ids go on",
        "  brokers [1,2,3] rename the folders of 4 partitions",
        "  retention.ms becomes 5 instead of 604800000, from namespace org, for 2 topics",
        "  WARNING: the pattern 'org:.*' of group auditors matches from now on",
        "only validated: nothing was written",
    ]
    effects = metalog(*move, "--json").json["effects"]
    assert (effects["brokers"], effects["partitions"]) == ([1, 2, 3], 4)
    assert effects["subscriptions_gained"] == [{"group": "auditors", "pattern": "org:.*"}]


def test_topics_move_with_their_ids_and_configs(metalog: Metalog, log: Path) -> None:
    metalog("configs", "set", "topic/orders", "retention.ms=5", "--log", log)
    before = topics(metalog, log)
    moved = metalog("namespaces", "move", "--from", "", "--to", "org", "--log", log)
    assert moved.out.splitlines()[:2] == ["moved clicks to org", "moved orders to org"]
    after = topics(metalog, log)
    assert after == {f"org:{name}": topic_id for name, topic_id in before.items()}
    arguments = ["topic/orders", "--namespace", "org", "--log", log, "--json"]
    (config,) = metalog("configs", "describe", *arguments).json["configs"]
    assert (config["name"], config["value"]) == ("retention.ms", "5")


def test_one_topic_moves(metalog: Metalog, log: Path) -> None:
    arguments = ["--from", "", "--to", "org:apache", "--topic", "orders", "--log", log]
    assert metalog("namespaces", "move", *arguments).code == 0
    assert sorted(topics(metalog, log)) == ["clicks", "org:apache:orders"]


def test_taken_target_name_moves_nothing(metalog: Metalog, log: Path) -> None:
    metalog("topics", "create", "org:orders", "--log", log)
    answer = metalog("namespaces", "move", "--from", "", "--to", "org", "--log", log)
    assert (answer.code, answer.err.startswith("error: TOPIC_ALREADY_EXISTS: ")) == (3, True)
    assert sorted(topics(metalog, log)) == ["clicks", "orders", "org:orders"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["create", "org"], "DUPLICATE_RESOURCE"),
        (["create", "a::b"], "INVALID_TOPIC_EXCEPTION"),
        (["create", "deleting"], "INVALID_TOPIC_EXCEPTION"),
        (["delete", ""], "INVALID_TOPIC_EXCEPTION"),
        (["delete", "absent"], "INVALID_TOPIC_EXCEPTION"),
        (["move", "--from", "", "--to", "absent"], "INVALID_TOPIC_EXCEPTION"),
        (["move", "--from", "org", "--to", "org"], "INVALID_REQUEST"),
        (["move", "--from", "", "--to", "org", "--topic", "x"], "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_refused_request_prints_its_code_and_exits_3(
    metalog: Metalog, log: Path, arguments: list[str], code: str
) -> None:
    answer = metalog("namespaces", *arguments, "--log", log)
    assert answer.code == 3
    assert answer.err.startswith(f"error: {code}: ")
