"""brokers list, describe, register, fence, unfence, unregister."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Metalog


def brokers(metalog: Metalog, log: Path) -> dict[int, Any]:
    found = metalog("brokers", "list", "--log", log, "--json").json["brokers"]
    return {broker["broker"]: broker for broker in found}


def test_brokers_are_listed_with_what_they_lead_and_hold(metalog: Metalog, log: Path) -> None:
    assert brokers(metalog, log)[1] == {
        "broker": 1,
        "state": "active",
        "rack": "a",
        "leads": 2,
        "replicas": 3,
        "applied_offset": None,
        "listeners": [],
    }
    assert len(metalog("brokers", "list", "--log", log).out.splitlines()) == 4


def test_registered_broker_is_fenced_until_it_is_unfenced(metalog: Metalog, log: Path) -> None:
    listeners = ["--listener", "b4.example:9092", "--listener", "SSL://[::1]:9093"]
    answer = metalog("brokers", "register", 4, *listeners, "--log", log, "--json").json
    assert answer["results"][0]["broker_epoch"] == answer["committed_at"]
    assert brokers(metalog, log)[4]["state"] == "fenced"
    assert brokers(metalog, log)[4]["listeners"] == [
        "PLAINTEXT://b4.example:9092",
        "SSL://[::1]:9093",
    ]
    assert metalog("brokers", "unfence", 4, "--log", log).out.startswith("broker 4: active\n")
    assert brokers(metalog, log)[4]["state"] == "active"


def test_fenced_broker_leads_nothing(metalog: Metalog, log: Path) -> None:
    assert metalog("brokers", "fence", 1, 2, "--log", log).code == 0
    states = {i: (b["state"], b["leads"]) for i, b in brokers(metalog, log).items()}
    assert states[1] == ("fenced", 0)
    unavailable = metalog("partitions", "list", "--unavailable", "--log", log, "--json").json[
        "partitions"
    ]
    assert [(p["topic"], p["partition"]) for p in unavailable] == [("clicks", 0), ("orders", 0)]


def test_unregistered_broker_is_gone(metalog: Metalog, log: Path) -> None:
    assert metalog("brokers", "unregister", 3, "--log", log).out.startswith(
        "broker 3: unregistered\n"
    )
    assert sorted(brokers(metalog, log)) == [1, 2]


def test_broker_is_described_with_its_registration(metalog: Metalog, log: Path) -> None:
    broker = metalog("brokers", "describe", 1, "--log", log, "--json").json["broker"]
    assert (broker["broker_id"], broker["rack"], broker["fenced"]) == (1, "a", False)
    assert {feature["name"] for feature in broker["features"]} >= {"metadata.version"}
    assert "broker epoch" in metalog("brokers", "describe", 1, "--log", log).out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["describe", "9"], "BROKER_ID_NOT_REGISTERED"),
        (["fence", "9"], "BROKER_ID_NOT_REGISTERED"),
        (["unfence", "9"], "BROKER_ID_NOT_REGISTERED"),
        (["unregister", "9"], "BROKER_ID_NOT_REGISTERED"),
        (["register", "1"], "DUPLICATE_BROKER_REGISTRATION"),
    ],
)
def test_refused_request_prints_its_code_and_exits_3(
    metalog: Metalog, log: Path, arguments: list[str], code: str
) -> None:
    answer = metalog("brokers", *arguments, "--log", log)
    assert answer.code == 3
    assert answer.err.startswith(f"error: {code}: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["register", "x"],
        ["register", "9" * 12],
        ["register", "4", "--listener", "host"],
        ["register", "4", "--listener", "host:99999"],
        ["fence"],
    ],
)
def test_what_cannot_be_read_is_wrong_usage(
    metalog: Metalog, log: Path, arguments: list[str]
) -> None:
    assert metalog("brokers", *arguments, "--log", log).code == 2


@pytest.mark.parametrize("arguments", [["register", "4"], ["fence", "1"], ["unfence", "1"]])
def test_brokers_of_a_service_speak_for_themselves(metalog: Metalog, arguments: list[str]) -> None:
    answer = metalog("brokers", *arguments, "--server", "kafka://127.0.0.1:1")
    assert (answer.code, answer.err.startswith("error: USAGE: ")) == (2, True)
