"""Lists of what a namespace holds: one that does not exist is an error, not an empty list."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from api.cli.main import run
from api.clients.blocking_client import BlockingClient
from controller.decisions.request import Request
from controller.descriptions.namespaces import ListNamespaces
from controller.descriptions.topics import ListTopics
from records.errors import RequestError
from tests.api.conftest import Metalog
from tests.api.services import Served, serving

LISTS = {
    "namespaces list": (["{ns}"], "below"),
    "topics list": (["--namespace", "{ns}"], "namespace"),
}
REASONS = {
    "never": "namespace:never never existed",
    "gone": "namespace:gone was removed at offset ",
}
CODE = "INVALID_TOPIC_EXCEPTION"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service of a log with the empty namespace `kept`; `gone` was deleted."""
    log = tmp_path_factory.mktemp("parents") / "log"
    assert run(["init", str(log)]) == 0
    for verb, name in (("create", "kept"), ("create", "gone"), ("delete", "gone")):
        assert run(["namespaces", verb, name, "--log", str(log)]) == 0
    with serving(log, "--http", "127.0.0.1:0") as at:
        yield at


@pytest.mark.parametrize("absent", REASONS)
@pytest.mark.parametrize("command", LISTS)
def test_command_line_tells_never_from_gone(
    metalog: Metalog, served: Served, command: str, absent: str
) -> None:
    words, _ = LISTS[command]
    for place in (
        *(["--log", str(served.log)], ["--server", served.kafka], ["--server", served.socket]),
    ):
        kept = metalog(*command.split(), *(w.format(ns="kept") for w in words), *place, "--json")
        assert kept.code == 0
        asked = (word.format(ns=absent) for word in words)
        answer = metalog(*command.split(), *asked, *place)
        assert (answer.code, answer.out) == (3, ""), place
        assert answer.err.startswith(f"error: {CODE}: "), answer.err
        assert REASONS[absent] in answer.err


@pytest.mark.parametrize("absent", REASONS)
@pytest.mark.parametrize("command", LISTS)
def test_http_tells_never_from_gone(served: Served, command: str, absent: str) -> None:
    _, parameter = LISTS[command]
    url = f"{served.http}/v1/{command.replace(' ', '/')}"
    assert httpx.get(url, params={parameter: "kept"}).status_code == 200
    answer = httpx.get(url, params={parameter: absent})
    assert (answer.is_client_error, answer.json()["code"]) == (True, CODE)
    assert REASONS[absent] in answer.json()["detail"]


@pytest.mark.parametrize(
    ("kept", "absent"),
    [
        (ListNamespaces(below="kept"), ListNamespaces(below="never")),
        (ListTopics(namespace="kept"), ListTopics(namespace="never")),
    ],
)
def test_python_raises_for_an_absent_namespace(
    served: Served, kept: Request[Any], absent: Request[Any]
) -> None:
    with BlockingClient(served.socket) as client:
        assert client.run(kept).response == ()
        with pytest.raises(RequestError, match="there is no namespace 'never'") as caught:
            client.run(absent)
    assert caught.value.code == CODE


@pytest.mark.parametrize(
    "command", [["topics", "describe"], ["partitions", "list"], ["elect-leaders"]]
)
def test_namespace_without_a_topic_is_refused_where_it_would_select_nothing(
    metalog: Metalog, served: Served, command: list[str]
) -> None:
    answer = metalog(*command, "--namespace", "kept", "--server", served.kafka)
    assert (answer.code, answer.out) == (2, "")
    assert "--namespace" in answer.err
