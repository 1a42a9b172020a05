"""Encoding of the decisions' requests and responses."""

import enum
from typing import Any

import msgspec
import pytest

from api.questions.table import STEPS
from api.requests.commands import COMMANDS, find_command
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    Operation,
    ResourceChange,
)
from controller.decisions.lookup import TopicRef
from controller.decisions.outcome import Refusal
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic, TopicResult
from controller.wire import from_wire, to_wire
from records.base import Uuid
from records.errors import RequestError

ID = Uuid(b"1" * 16)

REQUEST = CreateTopics(
    topics=(
        NewTopic(name="a", assignments=(Assignment(0, (1, 2)),), configs=(("x", "1"), ("y", None))),
        NewTopic(name="b", namespace="org", partitions=3),
    ),
    validate_only=True,
)


@pytest.mark.parametrize(
    ("value", "as_type"),
    [
        (REQUEST, CreateTopics),
        (DeleteTopics(topics=("a", ID)), DeleteTopics),
        (ID, TopicRef),
        ("name", TopicRef),
        (7, int),
        (None, type(None)),
        (
            (TopicResult(name="a", topic_id=ID), TopicResult(name="b", refusal=Refusal("X", "y"))),
            tuple[TopicResult, ...],
        ),
        (
            AlterConfigs(
                resources=(
                    ResourceChange(
                        resource_type=2,
                        resource_name="a",
                        changes=(ConfigChange("k", "v", Operation.APPEND),),
                    ),
                )
            ),
            AlterConfigs,
        ),
    ],
)
def test_values_come_back_as_they_were(value: Any, as_type: Any) -> None:
    assert from_wire(to_wire(value), as_type) == value


@pytest.mark.parametrize(
    ("plain", "as_type", "problem"),
    [
        ([], DeleteTopics, "value: list, not dict"),
        ({"topics": [1]}, DeleteTopics, r"value.topics\[0\]: int, not str or Uuid"),
        (
            {"topics": [], "more": 1},
            DeleteTopics,
            "DeleteTopics has no more; its fields are topics, ",
        ),
        ({"topic": []}, DeleteTopics, "DeleteTopics has no topic; its fields are topics"),
        ({}, DeleteTopics, "the field topics is missing"),
        ({"topics": [], "validate_only": 1}, CreateTopics, "validate_only: int, not bool"),
        (True, int, "value: bool, not int"),
        ({"topics": [{"name": "a", "configs": [["k"]]}]}, CreateTopics, "1 items, not 2"),
    ],
)
def test_what_is_of_another_type_is_refused_with_its_place(
    plain: Any, as_type: Any, problem: str
) -> None:
    with pytest.raises(RequestError, match=problem) as caught:
        from_wire(msgspec.msgpack.encode(plain), as_type)
    assert caught.value.code == "INVALID_REQUEST"


def test_bytes_that_are_no_messagepack_are_refused() -> None:
    with pytest.raises(RequestError, match="not MessagePack"):
        from_wire(b"\xc1", int)


@pytest.mark.parametrize("name", sorted(COMMANDS | STEPS))
def test_every_command_knows_the_types_of_request_and_response(name: str) -> None:
    command = find_command(name)
    for as_type in (command.request, command.response):
        with pytest.raises(RequestError):
            from_wire(msgspec.msgpack.encode({"no": "such thing"}), as_type)


def test_unknown_command_is_refused() -> None:
    with pytest.raises(RequestError, match="there is no command 'topics destroy'"):
        find_command("topics destroy")


class Colour(enum.Enum):
    RED = "red"


class Wall(msgspec.Struct, frozen=True):
    colour: Colour | None


@pytest.mark.parametrize("wall", [Wall(Colour.RED), Wall(None)])
def test_enumeration_that_may_be_absent_comes_back(wall: Wall) -> None:
    assert from_wire(to_wire(wall), Wall) == wall


def test_value_of_no_member_is_refused_with_its_place() -> None:
    with pytest.raises(RequestError, match=r"value\.colour: 'blue' is no Colour"):
        from_wire(to_wire({"colour": "blue"}), Wall)


@pytest.mark.parametrize(
    "raw", [b"\xa2\xff\xfe", b"\x91" * 100_000 + b"\xc0"], ids=["no UTF-8", "too deep"]
)
def test_what_cannot_be_read_is_refused(raw: bytes) -> None:
    with pytest.raises(RequestError, match="not MessagePack") as caught:
        from_wire(raw, str)
    assert caught.value.code == "INVALID_REQUEST"


@pytest.mark.parametrize("as_type", [Uuid, TopicRef])
def test_an_id_has_sixteen_octets(as_type: Any) -> None:
    with pytest.raises(RequestError, match="value: 3 octets, not the 16 of an id") as caught:
        from_wire(to_wire(b"abc"), as_type)
    assert caught.value.code == "INVALID_REQUEST"


class Newer(msgspec.Struct, frozen=True):
    name: str
    topic_id: Uuid
    version: int = 0


def test_fields_of_a_later_response_are_left_out_and_of_a_request_refused() -> None:
    raw = to_wire((Newer(name="a", topic_id=ID, version=7),))
    assert from_wire(raw, tuple[TopicResult, ...], lenient=True) == (
        TopicResult(name="a", topic_id=ID),
    )
    with pytest.raises(RequestError, match="TopicResult has no version"):
        from_wire(raw, tuple[TopicResult, ...])
