"""The two names of a command mean one command: on every way to a service, in all steps."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from api.http.commands import ROUTES
from api.http.openapi import openapi
from api.requests.commands import COMMANDS, find_command
from api.requests.json_requests import request_class, request_from_json
from api.requests.transactions import Step, Transact
from api.requests.wire_requests import CommandClient, WireRequest
from api.security.listeners import LOCAL
from api.service.session import Session
from controller.authorization.caller import Caller
from controller.wire import to_wire
from metadata_log.reader.log_reader import LogReader
from records.command_names import LOGGED_NAMES
from records.errors import RequestError
from tests.api.conftest import Metalog
from tests.api.guarded import guarded
from tests.api.http.conftest import LOOPBACK
from tests.api.kafka.servers import Server, server

_BROKER = {"resource_type": "BROKER", "resource_name": ""}
_CHANGE = {"name": "log.retention.ms", "value": "1000"}

REQUESTS: dict[str, dict[str, Any]] = {
    "configs set": {"resources": [{**_BROKER, "changes": [_CHANGE]}]},
    "elect-leaders": {"unclean": True},
    "namespaces move": {"from_namespace": "", "to_namespace": "org"},
}
VERBS: dict[str, list[str]] = {
    "configs set": ["cluster", "log.retention.ms=1000"],
    "elect-leaders": ["--unclean"],
    "namespaces move": ["--from", "", "--to", "org"],
}
_PREPARING: dict[str, dict[str, Any]] = {
    "namespaces create": {"name": "org"},
    "topics create": {"topics": [{"name": "orders", "partitions": 1, "replication_factor": 1}]},
}
PAIRS = list(LOGGED_NAMES.items())
WAYS = ["process", "kafka", "socket"]

ids = pytest.mark.parametrize(("verb", "logged"), PAIRS)


def _request(verb: str) -> Any:
    return request_from_json(REQUESTS[verb], request_class(verb))


def _path(name: str) -> str:
    return "/v1/" + name.replace(" ", "/")


def test_every_pair_is_tried() -> None:
    assert LOGGED_NAMES.keys() == REQUESTS.keys() == VERBS.keys()
    assert set(LOGGED_NAMES.values()) <= COMMANDS.keys()
    assert not LOGGED_NAMES.keys() & COMMANDS.keys()


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Server]:
    async with server(tmp_path, http=LOOPBACK, socket=LOCAL) as at:
        await at.register(1)
        for command, plain in _PREPARING.items():
            await at.client.run(command, request_from_json(plain, request_class(command)))
        yield at


def _way(at: Server, way: str) -> Any:
    session = Session(at.service, Caller(principal="User:ANONYMOUS"))
    return {"process": session, "kafka": at.client, "socket": at.socket_client}[way]


@ids
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", [0, 1])
async def test_second_name_gets_the_first_answer(
    at: Server, tmp_path: Path, verb: str, logged: str, way: str, first: int
) -> None:
    names = (verb, logged) if first == 0 else (logged, verb)
    payload = to_wire(_request(verb))
    answers = [
        await _way(at, way).run_wire(WireRequest(command=name, request=payload, request_id="r"))
        for name in names
    ]
    assert answers[0] == answers[1]
    assert _commands_in(tmp_path / "log") <= {*_PREPARING, logged}


@ids
async def test_log_holds_one_name_whatever_a_program_gives(
    at: Server, tmp_path: Path, verb: str, logged: str
) -> None:
    caller = Caller(principal="User:ANONYMOUS")
    origin = caller.origin(verb)
    await at.service.run(verb, _request(verb), caller=caller, origin=origin)
    assert _commands_in(tmp_path / "log") <= {*_PREPARING, logged}


@ids
@pytest.mark.parametrize("way", WAYS)
async def test_second_name_of_a_step_gets_the_first_answer(
    at: Server, verb: str, logged: str, way: str
) -> None:
    steps = [_raw_transaction(name, to_wire(_request(verb))) for name in (verb, logged)]
    answers = []
    for payload in steps:
        asked = WireRequest(command="transaction", request=payload, request_id="r")
        answers.append(await _way(at, way).run_wire(asked))
    assert answers[0] == answers[1]


def _raw_transaction(name: str, request: bytes) -> bytes:
    """Return a transaction as a client that knows nothing of our names would encode it."""
    step = to_wire(Step("topics create", request))
    whole = to_wire(Transact(steps=(Step("topics create", request),)))
    assert step in whole
    plain = msgspec.msgpack.decode(whole)
    encoded = msgspec.msgpack.encode(_renamed(plain, "topics create", name))
    assert name.encode() in encoded
    return encoded


def _renamed(plain: Any, old: str, new: str) -> Any:
    match plain:
        case list():
            return [_renamed(each, old, new) for each in plain]
        case dict():
            return {key: _renamed(each, old, new) for key, each in plain.items()}
    return new if plain == old else plain


@ids
async def test_second_name_over_http_gets_the_first_answer(
    at: Server, verb: str, logged: str
) -> None:
    async with httpx.AsyncClient(base_url=at.http_url, timeout=30) as http:
        for key in ("plain", "steps"):
            answers = []
            for name in (verb, logged):
                path, body = _path(name), REQUESTS[verb]
                if key == "steps":
                    path, body = "/v1/transaction", {"steps": [{"command": name, "request": body}]}
                headers = {"Idempotency-Key": key}
                answers.append(await http.post(path, json=body, headers=headers))
            assert answers[0].json() == answers[1].json()
            assert answers[0].json().get("code") != "DUPLICATE_REQUEST"


@ids
async def test_both_names_need_the_same_rights(tmp_path: Path, verb: str, logged: str) -> None:
    async with guarded(tmp_path) as (at, rights):
        rights.only = set()
        async with httpx.AsyncClient(base_url=at.http_url, timeout=30) as http:
            answers = [await http.post(_path(name), json=REQUESTS[verb]) for name in (verb, logged)]
        assert answers[0].json() == answers[1].json()
        assert answers[0].status_code == 403
        for client in (at.client, at.socket_client):
            one, other = [await _refusal(client, name, verb) for name in (verb, logged)]
            assert one == other
            assert "_AUTHORIZATION_FAILED" in one


async def _refusal(client: CommandClient, name: str, verb: str) -> str:
    try:
        answer = await client.run(name, _request(verb))
    except RequestError as error:
        return f"{error.code}: {error}"
    return repr(answer.response)


@ids
def test_both_names_are_verbs(metalog: Metalog, tmp_path: Path, verb: str, logged: str) -> None:
    log = tmp_path / "log"
    assert metalog("init", log).code == 0
    assert metalog("namespaces", "create", "org", "--log", log).code == 0
    asked = [*VERBS[verb], "--log", log, "--request-id", "r", "--json"]
    one, other = (metalog(*name.split(), *asked) for name in (verb, logged))
    assert (one.code, one.out, one.err) == (other.code, other.out, other.err)
    assert one.code == 0
    helps = [metalog(*name.split(), "--help") for name in (verb, logged)]
    assert (helps[0].out, helps[0].code) == (helps[1].out, 0)


@ids
def test_document_says_which_name_is_the_older(verb: str, logged: str) -> None:
    paths = json.loads(openapi())["paths"]
    new, old = (paths[_path(name)]["post"] for name in (verb, logged))
    assert ("deprecated" in new, old["deprecated"]) == (False, True)
    left_out = {"operationId", "tags", "deprecated"}
    assert {key: of for key, of in new.items() if key not in left_out} == {
        key: of for key, of in old.items() if key not in left_out
    }


def test_all_other_commands_have_one_name() -> None:
    by_command: dict[str, list[str]] = {}
    for path, command in ROUTES.items():
        by_command.setdefault(command.name, []).append(path)
    twice = {name for name, paths in by_command.items() if len(paths) > 1}
    assert twice == set(LOGGED_NAMES.values())
    for verb, logged in LOGGED_NAMES.items():
        assert find_command(verb) is find_command(logged)


def _commands_in(log: Path) -> set[str]:
    with LogReader.open(log) as reader:
        origins = [row.origin for batch in reader.batches() for row in batch.rows]
    found = {origin.command for origin in origins if origin is not None and origin.command}
    return found & {*LOGGED_NAMES, *COMMANDS}
