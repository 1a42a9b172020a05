"""Registered patterns of consumer groups, and the warnings when they match more topics."""

import pytest

from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from controller.decisions.topics.patterns import KEPT_STATES_MAX
from controller.decisions.topics.subscriptions import (
    SUBSCRIPTIONS_MAX,
    DeleteSubscription,
    RegisterSubscription,
    Subscription,
    SubscriptionMatcher,
    delete_subscription,
    register_subscription,
)
from controller.decisions.topics.topics import CreateTopics, NewTopic, create_topics
from records.configs import ConfigRecord
from replay.image.configs import GROUP
from tests.controller.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    """Groups that subscribe to everything, to bla.* and to orders."""
    cluster = Cluster()
    cluster.add_brokers(1)
    for group, pattern in (("all", ".*"), ("bla", "bla.*"), ("orders", "(.*:)?orders")):
        cluster.do(register_subscription, RegisterSubscription(group=group, pattern=pattern))
    return cluster


def _groups(found: tuple[Subscription, ...] | None) -> list[str] | None:
    return None if found is None else [subscription.group for subscription in found]


def _warned(cluster: Cluster, topic: NewTopic) -> list[str] | None:
    (result,) = cluster.do(create_topics, CreateTopics(topics=(topic,)))
    assert result.refusal is None
    return _groups(result.subscriptions)


def test_a_new_namespace_warns_of_patterns_that_match_topics_in_it(cluster: Cluster) -> None:
    result = cluster.do(create_namespace, CreateNamespace("bla"))
    assert _groups(result.subscriptions) == ["all", "bla", "orders"]
    result = cluster.do(create_namespace, CreateNamespace("org:team"))
    assert _groups(result.subscriptions) == ["all", "orders"]


def test_a_new_topic_warns_of_patterns_that_match_it(cluster: Cluster) -> None:
    cluster.do(create_namespace, CreateNamespace("bla"))
    assert _warned(cluster, NewTopic(name="orders")) == ["all", "orders"]
    assert _warned(cluster, NewTopic(name="clicks", namespace="bla")) == ["all", "bla"]
    assert _warned(cluster, NewTopic(name="orders", namespace="bla")) == ["all", "bla", "orders"]


def test_a_dry_run_warns_as_well(cluster: Cluster) -> None:
    request = CreateNamespace("bla", validate_only=True)
    assert _groups(cluster.do(create_namespace, request).subscriptions) == ["all", "bla", "orders"]
    assert cluster.records == ()


def test_a_pattern_is_written_once_and_replaced(cluster: Cluster) -> None:
    again = RegisterSubscription(group="bla", pattern="bla.*")
    cluster.do(register_subscription, again)
    assert cluster.records == ()
    cluster.do(register_subscription, RegisterSubscription(group="bla", pattern="blub.*"))
    assert len(cluster.records) == 1
    assert cluster.context().index.subscriptions["bla"] == "blub.*"


def test_a_deleted_subscription_warns_no_more(cluster: Cluster) -> None:
    cluster.do(delete_subscription, DeleteSubscription(group="all"))
    assert _warned(cluster, NewTopic(name="orders")) == ["orders"]
    error = cluster.refused(delete_subscription, DeleteSubscription(group="all"))
    assert error.code == "GROUP_ID_NOT_FOUND"


@pytest.mark.parametrize(
    ("group", "pattern", "code"),
    [
        ("g", "(", "INVALID_REGULAR_EXPRESSION"),
        ("", ".*", "INVALID_GROUP_ID"),
        ("g" * 256, ".*", "INVALID_GROUP_ID"),
    ],
)
def test_what_cannot_be_registered_is_refused(
    cluster: Cluster, group: str, pattern: str, code: str
) -> None:
    request = RegisterSubscription(group=group, pattern=pattern)
    assert cluster.refused(register_subscription, request).code == code


def _write(cluster: Cluster, count: int, pattern: str) -> None:
    cluster.write(
        [
            ConfigRecord(
                resource_type=GROUP,
                resource_name=f"group-{number}",
                name="subscribed.topic.regex",
                value=pattern,
            )
            for number in range(count)
        ]
    )


def test_only_so_many_groups_can_have_patterns(cluster: Cluster) -> None:
    _write(cluster, SUBSCRIPTIONS_MAX, "x")
    request = RegisterSubscription(group="one-more", pattern=".*")
    assert cluster.refused(register_subscription, request).code == "POLICY_VIOLATION"
    cluster.do(register_subscription, RegisterSubscription(group="group-1", pattern="y"))


def test_a_pattern_that_was_written_by_other_means_and_is_broken_matches_nothing(
    cluster: Cluster,
) -> None:
    _write(cluster, 1, "(")
    assert _warned(cluster, NewTopic(name="clicks")) == ["all"]


def test_too_much_to_match_is_said(cluster: Cluster) -> None:
    _write(cluster, SUBSCRIPTIONS_MAX, ".*x")
    matcher = SubscriptionMatcher(cluster.context())
    assert matcher.of_topic("a" * 50) is not None
    assert matcher.of_topic("a" * 100) is None


def test_a_pattern_in_memory_stays_small(cluster: Cluster) -> None:
    cluster.do(
        register_subscription, RegisterSubscription(group="g", pattern="(a|b)*a(a|b){99}(a|b)*")
    )
    matcher = SubscriptionMatcher(cluster.context())
    for number in range(KEPT_STATES_MAX * 2):
        name = f"{number:0b}".replace("0", "b").replace("1", "a") * 9
        assert "g" not in (_groups(matcher.of_topic(name)) or ())
