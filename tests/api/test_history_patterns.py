"""`history` of a pattern: each line names its object, and hidden objects are not revealed."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from records.base import Record
from records.control import BeginTransactionRecord, EndTransactionRecord
from records.errors import RequestError
from records.json import to_json
from records.partitions import ClearElrRecord
from records.security import DelegationTokenRecord
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.loader import load_image
from replay.name_patterns import name_matcher
from replay.time_travel.objects import parse_object
from replay.time_travel.pattern_history import history_matching
from replay.timeline import Timeline
from tests.api.conftest import Metalog
from tests.histories import random_history
from tests.replay.builders import FakeLog, batches, change, namespace, partition, topic, uid
from tests.replay.time_travel.test_skim import SkimmedLog

PATTERNS = (
    *("topic:*", "topic:*a*", "partition:*/0", "partition:*/?#leader", "broker:?", "broker:1*"),
    *("config:topic/*", "config:broker/?", "namespace:*", "quota:*", "acl:*", "removal:*"),
)


_TOPICS: list[list[Record]] = [
    [topic("orders-a"), partition("orders-a", 0)],
    [topic("audit"), partition("audit", 0), partition("audit", 1)],
    [change("audit", 0, leader=2), change("orders-a", 0, leader=2)],
    [BeginTransactionRecord(), change("orders-a", 0, leader=3)],
    [topic("orders-b"), partition("orders-b", 0), EndTransactionRecord()],
    [ClearElrRecord(topic_name="")],
    [RemoveTopicRecord(topic_id=uid("orders-a")), change("audit", 1, leader=3)],
    [topic("orders-a", topic_id="second"), partition("second", 0)],
]
_MOVED: list[list[Record]] = [
    [change("audit", 0, leader=3)],
    [MoveTopicRecord(topic_id=uid("audit"), name="orders-c", namespace_id=None)],
    [change("audit", 0, leader=1)],
]
_NAMESPACES: list[list[Record]] = [
    [namespace("orders")],
    [topic("x", namespace="orders"), partition("x", 0)],
    [change("x", 0, leader=2)],
]


@pytest.mark.parametrize("more", [[], _MOVED, _NAMESPACES, [*_MOVED, *_NAMESPACES]])
def test_a_skimmed_history_is_that_of_the_whole_log(more: list[list[Record]]) -> None:
    written = batches(*_TOPICS, *more, *([change("orders-b", 0, leader=n)] for n in range(1, 4)))
    plain, skimmed = FakeLog(written), SkimmedLog(written)
    patterns = ("topic:ord*", "topic:*-a", "topic:*:x", "partition:orders*", "partition:or*a/?")
    for text in (*patterns, "partition:*/0#leader", "topic:*", "partition:orders*/*#isr"):
        for first in range(skimmed.end_offset):
            assert told_by(skimmed, text, first) == told_by(plain, text, first), (text, first)


def test_only_blocks_that_name_what_matches_are_decoded() -> None:
    written = batches(*_TOPICS[:3], *([change("audit", 0, leader=n)] for n in (1, 2, 3)))
    log = SkimmedLog(written)
    assert told_by(log, "partition:orders-*", 0)
    assert log.decoded == [written[0].base_offset, written[2].base_offset]


def told_by(log: FakeLog, text: str, first: int) -> list[tuple[Any, ...]]:
    """Return the history of a pattern; empty if no object ever matches."""
    start, end, name = load_image(log, first - 1), log.end_offset, parse_object(text)
    found = history_matching(log, name, first, end, start, shown=lambda _, label: label)
    try:
        return [
            (row.offset, f"{name.kind.name}:{label}", each.field, each.before, each.after)
            for label, row, of in found
            for each in of
        ]
    except RequestError as error:
        if error.code != "RESOURCE_NOT_FOUND":
            raise
        return []


@pytest.mark.parametrize("seed", range(4))
def test_pattern_tells_the_effective_changes_of_the_objects_that_match(seed: int) -> None:
    rng = random.Random(seed)
    log = FakeLog(random_history(rng, 80))
    first = rng.choice((0, log.end_offset // 2))
    changes = [each for each in Timeline(log).changes(first, log.end_offset) if each.in_effect]
    for text in PATTERNS:
        name = parse_object(text)
        matches = name_matcher(name.object, ())
        expected = [
            (each.offset, each.object, each.field, each.before, each.after)
            for each in changes
            if matches(each.object) and name.field in (None, each.field)
        ]
        told = told_by(log, text, first)
        assert sorted(map(repr, told)) == sorted(map(repr, expected)), text


def test_each_line_names_its_object(metalog: Metalog, demo_log: Path) -> None:
    found = metalog("history", demo_log, "broker:?#fenced", "--json").lines
    diff = metalog("diff", demo_log, "start", "end", "--json").json["changes"]
    names = {each["object"] for each in diff if each["object"].startswith("broker:")}
    assert {each["object"] for each in found} == names
    for name in names:
        single = metalog("history", demo_log, f"{name}#fenced", "--json").lines
        of_broker = [each for each in found if each["object"] == name]
        assert [{k: v for k, v in each.items() if k != "object"} for each in of_broker] == single
    text = metalog("history", demo_log, "broker:?#fenced", "--last", 1).out.splitlines()
    assert text[1].strip() == found[-1]["object"]


def test_ranges_and_steps_of_a_pattern(metalog: Metalog, demo_log: Path) -> None:
    found = metalog("history", demo_log, "topic:*", "--json").lines
    third = found[2]["offset"]
    assert metalog("history", demo_log, "topic:*", "--from", third, "--json").lines[0] in found
    after = [each for each in found if each["offset"] > third]
    before = [each for each in found if each["offset"] < third]
    assert metalog("history", demo_log, "topic:*", "--next", third, "--json").lines == after[:1]
    assert metalog("history", demo_log, "topic:*", "--prev", third, "--json").lines == before[-1:]


def test_pattern_that_nothing_matches(metalog: Metalog, demo_log: Path) -> None:
    answer = metalog("history", demo_log, "topic:no-such-*")
    assert answer.code == 3
    assert "RESOURCE_NOT_FOUND: no topic matches topic:no-such-*" in answer.err
    # What matches and did not change is no error.
    assert metalog("history", demo_log, "broker:*", "--from", "end-1").code == 0


def test_pattern_does_not_find_out_the_id_of_a_token(
    metalog: Metalog, tmp_path: Path, demo_log: Path
) -> None:
    token = DelegationTokenRecord(
        owner="User:ann",
        requester="User:ann",
        renewers=(),
        issue_timestamp=1,
        max_timestamp=2,
        expiration_timestamp=2,
        token_id="s3cret",
    )
    row: dict[str, Any] = {"type": "DelegationTokenRecord", "data": to_json(token)}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    log = tmp_path / "log"
    assert metalog("init", log).code == 0
    assert metalog("append", "--log", log, tmp_path / "rows.jsonl").code == 0
    assert metalog("history", log, "token:s3*").code == 3
    (hidden,) = metalog("history", log, "token:*", "--json").lines
    assert hidden["object"] == "token:(redacted)"
    (shown,) = metalog("history", log, "token:s3*", "--json", "--show-secrets").lines
    assert shown["object"] == "token:s3cret"
