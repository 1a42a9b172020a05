"""Errors of commands that were written a little wrong name the command that was meant."""

from pathlib import Path

import pytest

from tests.api.commands_walk import taking
from tests.api.conftest import Metalog


@pytest.mark.parametrize(
    "verb", [("topics", "list"), ("brokers", "list"), ("namespaces", "list"), ("acls", "list")]
)
def test_log_as_an_argument_is_told_the_option(
    metalog: Metalog, demo_log: Path, verb: tuple[str, str]
) -> None:
    extra = ("", demo_log) if verb[0] == "namespaces" else (demo_log,)
    answer = metalog(*verb, *extra)
    assert (answer.code, answer.out) == (2, "")
    assert f"LOG is an option here: metalog {' '.join(verb)} --log LOG" in answer.err


@pytest.mark.parametrize("verb", taking("--log"))
def test_log_in_the_wrong_place_is_told_the_option(
    metalog: Metalog, demo_log: Path, verb: str
) -> None:
    answer = metalog(*verb.split(), demo_log)
    assert (answer.code, answer.out) == (2, "")
    assert "--log LOG" in answer.err


@pytest.mark.parametrize("verb", taking("--server"))
@pytest.mark.parametrize("scheme", ["http", "https", "HTTP"])
def test_server_given_as_http_is_told_the_other_listeners(
    metalog: Metalog, verb: str, scheme: str
) -> None:
    answer = metalog(*verb.split(), "--server", f"{scheme}://127.0.0.1:8080")
    assert (answer.code, answer.out) == (2, "")
    assert "HTTP; name the address of its Kafka listener instead" in answer.err
    assert "kafka://127.0.0.1:9092" in answer.err


@pytest.mark.parametrize("verb", taking("--server"))
def test_server_that_is_none_is_wrong_usage(metalog: Metalog, verb: str) -> None:
    answer = metalog(*verb.split(), "--server", "ftp://127.0.0.1:8080")
    assert (answer.code, answer.out) == (2, "")
    assert "'ftp://127.0.0.1:8080' is not a server" in answer.err


def test_an_argument_too_many_is_not_taken_for_the_log_where_that_is_given(
    metalog: Metalog, demo_log: Path
) -> None:
    answer = metalog("topics", "list", "orders", "--log", demo_log)
    assert (answer.code, "LOG is an option" in answer.err) == (2, False)


def test_digest_is_told_how_spark_computes_it(metalog: Metalog, demo_log: Path) -> None:
    answer = metalog("audit", "digest", demo_log)
    assert (answer.code, "`metalog digest LOG --by spark`" in answer.err) == (3, True)
