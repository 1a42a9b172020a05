"""Expressions: the names and operators that they can use, and the errors."""

import re
from pathlib import Path
from typing import Any

import pytest

from records.configs import ConfigRecord, FeatureLevelRecord
from records.errors import RequestError
from records.security import DelegationTokenRecord, UserScramCredentialRecord
from replay.expressions import values
from replay.expressions.expression import Expression
from replay.expressions.vocabulary import COLLECTIONS, FIELDS
from replay.image.parts import PARTS
from tests.replay.builders import broker, image_of, namespace, partition, topic

_DOCUMENT = Path(__file__).parents[3] / "docs" / "expressions.md"

_IMAGE = image_of(
    broker(1, fenced=False, broker_epoch=1),
    broker(2, broker_epoch=2),
    topic("orders"),
    partition("orders", 0),
    partition("orders", 1, leader=-1, isr=(2,)),
    namespace("org"),
    topic("bills", namespace="org"),
    ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="60000"),
    ConfigRecord(resource_type=4, resource_name="", name="my.password", value="secret"),
    FeatureLevelRecord(name="metadata.version", feature_level=20),
    UserScramCredentialRecord(
        name="ann", mechanism=2, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096
    ),
    DelegationTokenRecord(
        owner="User:ann",
        renewers=(),
        issue_timestamp=1,
        max_timestamp=2,
        expiration_timestamp=3,
        token_id="hidden",
        requester="User:ann",
    ),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('topics["orders"].partitions[1].leader == -1', True),
        ("topics.orders.partitions[0].isr", [1, 2, 3]),
        ('topics["org:bills"].namespace', "org"),
        ('"org:bills" in topics && !("bills" in topics)', True),
        ("brokers[2].fenced", True),
        ("brokers[2].end_points[0].port", 9092),
        ("size(topics) + topics.orders.partitions.size()", 4),
        ('partitions["orders/1"].leader', -1),
        ("partitions.exists(p, p.leader == -1)", True),
        ("partitions.filter(p, p.leader == -1)", ["partition:orders/1"]),
        ("size(partitions.filter(p, size(p.isr) < size(p.replicas)))", 1),
        ("partitions.exists_one(p, brokers[p.leader].fenced)", False),
        ("brokers.all(b, b.fenced || b.broker_id == 1)", True),
        ('topics.exists(name, t, name.startsWith("org:") && size(t.partitions) == 0)', True),
        ("topics.orders.partitions.map(p, p.leader)", [1, -1]),
        ("topics.orders.partitions.exists(n, p, n == 1 && p.leader == -1)", True),
        ('int(configs["topic/orders"]["retention.ms"]) < 60001', True),
        ('topics.orders.configs["retention.ms"].endsWith("00")', True),
        ('topics.orders.configs.exists(k, v, k == "retention.ms" && v == "60000")', True),
        ('features["metadata.version"].level >= 20', True),
        ("2 in topics.orders.partitions[0].isr ? 'yes' : \"no\"", "yes"),
        ("7 / -2 == -3 && 7 % -2 == 1 && -7 % 2 == -1", True),
        ("0x10 == 16 && 1.5 + 1e1 == 11.5", True),
        ("true == 1", False),
        ("[1, [2]] == [1, [2]] && 1 == 1.0 && 1 != '1'", True),
        (r"'\u0041\'\n' == 'A' + string('\'') + '\n'", True),
        ("brokers[2].rack == null", True),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert Expression(text).evaluate(_IMAGE) == expected
    assert Expression(text).incremental().start(_IMAGE) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('topics["gone"].partitions[0].leader == -1', False),
        ("!brokers[7].fenced", False),
        ("brokers[7].fenced", None),
        ("topics.orders.partitions[9].leader", None),
        ("has(brokers[7].rack)", False),
        ("has(brokers[2].rack)", True),
        ("brokers[7].fenced || brokers[2].fenced", True),
        ("brokers[7].fenced && brokers[1].fenced", False),
        ("partitions.exists(p, brokers[p.leader].fenced || p.leader == -1)", True),
        ("partitions.all(p, !brokers[p.leader].fenced)", False),
        ("1 / 0 == 1", False),
        ("9223372036854775807 + 1", None),
        ("int('x')", None),
    ],
)
def test_what_does_not_exist_is_absent(text: str, expected: Any) -> None:
    assert Expression(text).evaluate(_IMAGE) == expected
    assert Expression(text).incremental().start(_IMAGE) == expected


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", None, "is empty"),
        ("size(topics) >", 15, "ends too early"),
        ("size(topics) ) 3", 14, "not expected"),
        ("size(topics) ~ 3", 14, "not expected"),
        ("topic.orders", 1, "names are topics, partitions"),
        ("brokers[2].fence", 12, "has no field 'fence'; its fields: broker_id"),
        ('topics["a"].partitions[0].lead', 27, "a partition has no"),
        ("partitions.exists(p, p.lead == 1)", 24, "a partition has no"),
        ("partitions.exists(1, true)", 1, "write exists"),
        ("partitions.some(p, true)", 12, "no method"),
        ("len(topics)", 1, "no function"),
        ("99999999999999999999 > 1", 1, "64 bits"),
        ("(" * 20_000, None, "at most 10,000 characters"),
        ("!" * 200 + "true", 101, "deep"),
        ("partitions.exists(x, x.isr.exists(y, __class__ == y))", 38, "there is no '__class__'"),
    ],
)
def test_what_no_image_can_answer_is_refused(text: str, column: int | None, message: str) -> None:
    with pytest.raises(RequestError, match=re.escape(message)) as error:
        Expression(text)
    if column is not None:
        assert f"column {column}:" in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topics", "a whole collection"),
        ("1 < 'a'", "column 1: int and string cannot be ordered"),
        ("topics.orders && true", "column 1: this is a object"),
        ("true && size(topics)", "column 9: this is a int"),
        ("size(1)", "column 1: a int has no size"),
        ("brokers.all(b, b.broker_id)", "column 1: all() needs a condition"),
    ],
)
def test_types_that_do_not_fit_are_refused(text: str, message: str) -> None:
    with pytest.raises(RequestError, match=re.escape(message)):
        Expression(text).evaluate(_IMAGE)
    with pytest.raises(RequestError, match=re.escape(message)):
        Expression(text).incremental().start(_IMAGE)


def test_an_evaluation_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "STEPS_MAX", 10)
    nested = "topics.all(a, topics.all(b, topics.all(c, topics.all(d, true))))"
    with pytest.raises(RequestError, match="visits more than 10 elements"):
        Expression(nested).evaluate(_IMAGE)


def test_secrets_are_not_to_be_found_out() -> None:
    for text in (
        'configs["broker/"]["my.password"]',
        'scram["ann/SCRAM-SHA-512"].salt',
        "tokens.map(t, t.token_id)[0]",
        "tokens.exists(name, t, name == 'hidden')",
    ):
        assert Expression(text).evaluate(_IMAGE) in ("(redacted)", False)


def test_every_part_of_the_image_can_be_named() -> None:
    parts = {part for objects in COLLECTIONS.values() for part in objects.kind.parts}
    assert parts == set(PARTS)
    for part in PARTS.values():
        for objects in COLLECTIONS.values():
            if objects.kind.parts == (part.name,) and FIELDS[objects.kind.name]:
                fields = set(part.object_type.__struct_fields__) - part.beside
                assert fields <= set(FIELDS[objects.kind.name])


def test_the_document_lists_every_collection_and_field() -> None:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|(.*)\|$", _DOCUMENT.read_text("utf-8"), re.MULTILINE)
    documented = {name: re.findall(r"`(\w+)`", fields) for name, fields in rows}
    assert documented == {
        name: list(FIELDS[objects.kind.name]) for name, objects in COLLECTIONS.items()
    }
