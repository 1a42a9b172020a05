"""quotas set, delete, describe, explain."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Metalog


def quotas(metalog: Metalog, log: Path, *filters: str) -> list[Any]:
    answer = metalog("quotas", "describe", *filters, "--log", log, "--json")
    assert answer.code == 0, answer
    return [(each["entity"], each["quotas"]) for each in answer.json["quotas"]]


@pytest.fixture
def limited(metalog: Metalog, log: Path) -> Path:
    for arguments in (
        ("--user", "ann", "producer_byte_rate=1024", "request_percentage=12.5"),
        ("--user", "ann", "--client-id", "etl", "producer_byte_rate=2048"),
        ("--default-user", "producer_byte_rate=1"),
        ("--ip", "10.0.0.1", "connection_creation_rate=5"),
    ):
        assert metalog("quotas", "set", *arguments, "--log", log).code == 0
    return log


def test_quotas_are_set_described_and_deleted(metalog: Metalog, limited: Path) -> None:
    ann = ({"user": "ann"}, {"producer_byte_rate": 1024.0, "request_percentage": 12.5})
    etl = ({"client-id": "etl", "user": "ann"}, {"producer_byte_rate": 2048.0})
    rest = ({"user": None}, {"producer_byte_rate": 1.0})
    ip = ({"ip": "10.0.0.1"}, {"connection_creation_rate": 5.0})
    assert quotas(metalog, limited) == [etl, ip, rest, ann]
    assert quotas(metalog, limited, "--user", "ann") == [etl, ann]
    assert quotas(metalog, limited, "--user", "ann", "--strict") == [ann]
    assert quotas(metalog, limited, "--default-user") == [rest]
    assert quotas(metalog, limited, "--any-user", "--any-client-id") == [etl]
    assert quotas(metalog, limited, "--any-ip") == [ip]
    assert quotas(metalog, limited, "--strict") == []
    text = metalog("quotas", "describe", "--user", "ann", "--strict", "--log", limited).out
    assert [line.split() for line in text.splitlines()] == [
        ["entity", "quota", "value"],
        ["user=ann", "producer_byte_rate", "1024"],
        ["user=ann", "request_percentage", "12.5"],
    ]
    answer = metalog("quotas", "delete", "--user", "ann", "request_percentage", "--log", limited)
    assert answer.out.startswith("deleted: request_percentage of user=ann\ncommitted at offset")
    again = metalog("quotas", "delete", "--user", "ann", "request_percentage", "--log", limited)
    assert again.out.endswith("nothing had to be written\n")
    assert quotas(metalog, limited, "--user", "ann", "--at", "end-2")[1] == ann


def test_explanation_names_what_applies_and_what_is_overridden(
    metalog: Metalog, limited: Path
) -> None:
    text = metalog("quotas", "explain", "--user", "ann", "--client-id", "etl", "--log", limited).out
    assert [line.split() for line in text.splitlines()] == [
        ["quota", "value", "set", "for"],
        ["producer_byte_rate", "2048", "client-id=etl,user=ann", "applies"],
        ["producer_byte_rate", "1024", "user=ann", "overridden"],
        ["producer_byte_rate", "1", "user=<default>", "overridden"],
        ["consumer_byte_rate", "unlimited"],
        ["request_percentage", "12.5", "user=ann", "applies"],
        ["controller_mutation_rate", "unlimited"],
    ]
    found = metalog("quotas", "explain", "--ip", "10.0.0.1", "--log", limited, "--json").json
    assert found["quotas"] == [
        {
            "quota": "connection_creation_rate",
            "value": 5.0,
            "candidates": [{"entity": {"ip": "10.0.0.1"}, "value": 5.0}],
        }
    ]


def test_wrong_use_and_refusals(metalog: Metalog, limited: Path) -> None:
    for code, arguments in (
        (2, ("--user", "ann", "--default-user", "producer_byte_rate=1")),
        (2, ("--user", "ann", "producer_byte_rate=much")),
        (2, ("--user", "ann", "producer_byte_rate=nan")),
        (2, ("--user", "ann", "producer_byte_rate")),
        (3, ("producer_byte_rate=1",)),
        (3, ("--user", "ann", "producer_byte_rate=0")),
        (3, ("--ip", "10.0.0.1", "--user", "ann", "connection_creation_rate=1")),
    ):
        answer = metalog("quotas", "set", *arguments, "--log", limited)
        assert (answer.code, answer.err.count("\n")) == (code, 1), arguments
    assert metalog("quotas", "explain", "--log", limited).code == 3


def test_history_and_blame_take_the_entity_in_any_order(metalog: Metalog, limited: Path) -> None:
    for entity in ("client-id=etl,user=ann", "user=ann,client-id=etl"):
        name = f"quota:{entity}/producer_byte_rate"
        (line,) = metalog("history", limited, name, "--json").lines
        assert line["changes"][0]["after"] == 2048.0
        assert metalog("blame", limited, name, "--json").json["fields"]["value"]["known"]
    answer = metalog("image", limited, "--part", "quotas")
    assert "quota:ip=10.0.0.1/connection_creation_rate  value=5.0" in answer.out
