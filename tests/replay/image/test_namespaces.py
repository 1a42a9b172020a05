"""Effects of namespace records."""

import pytest

from records.errors import ContradictionError
from records.topics import NamespaceRecord, RemoveNamespaceRecord, RemoveTopicRecord
from replay.image.namespaces import Namespace
from tests.replay.builders import image_of, namespace, topic, uid


def test_namespace_is_found_by_id_and_by_full_name() -> None:
    image = image_of(namespace("org"), namespace("org:apache"))
    assert image.namespace(uid("org")) == Namespace(uid("org"), "org", version=0)
    assert image.namespace_by_name("org:apache") == image.namespace(uid("org:apache"))
    assert image.namespace_by_name("apache") is None
    assert {each.name for each in image.namespaces()} == {"org", "org:apache"}


def test_topics_of_a_namespace_are_those_right_in_it() -> None:
    image = image_of(
        namespace("org"),
        namespace("org:apache"),
        topic("t"),
        topic("u", namespace="org"),
        topic("v", namespace="org:apache"),
    )
    names = [[each.name for each in image.topics_in(n)] for n in (None, uid("org"), uid("gone"))]
    assert names == [["t"], ["u"], []]


def test_topic_is_found_by_its_full_name() -> None:
    image = image_of(namespace("org:apache"), topic("t", namespace="org:apache"), topic("u"))
    assert image.topic_by_full_name("org:apache:t") == image.topic(uid("t"))
    assert image.topic_by_full_name("u") == image.topic(uid("u"))
    for absent in ("t", "org:t", "org:apache:u", "org:apache", ":u", ""):
        assert image.topic_by_full_name(absent) is None


def test_removed_namespace_is_gone() -> None:
    image = image_of(namespace("a"), RemoveNamespaceRecord(namespace_id=uid("a")))
    assert image.namespace(uid("a")) is None
    assert image.namespace_by_name("a") is None


def test_namespace_id_and_name_can_not_be_taken_twice() -> None:
    with pytest.raises(
        ContradictionError, match=r"offset 1: NamespaceRecord: namespace id \S+ exists"
    ):
        image_of(namespace("a"), NamespaceRecord(namespace_id=uid("a"), name="b"))
    with pytest.raises(ContradictionError, match="offset 1: NamespaceRecord: namespace 'a' exists"):
        image_of(namespace("a"), NamespaceRecord(namespace_id=uid("b"), name="a"))


def test_removal_of_an_unknown_namespace_is_a_contradiction() -> None:
    with pytest.raises(ContradictionError, match="offset 0: RemoveNamespaceRecord: there is no"):
        image_of(RemoveNamespaceRecord(namespace_id=uid("a")))


def test_namespace_that_still_has_topics_can_not_be_removed() -> None:
    removal = RemoveNamespaceRecord(namespace_id=uid("a"))
    with pytest.raises(ContradictionError, match="namespace 'a' still has topics"):
        image_of(namespace("a"), topic("t", namespace="a"), removal)
    emptied = image_of(
        namespace("a"),
        topic("t", namespace="a"),
        RemoveTopicRecord(topic_id=uid("t")),
        removal,
    )
    assert list(emptied.namespaces()) == []
