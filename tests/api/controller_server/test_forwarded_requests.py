"""A request that a broker sends again, with the same id, is carried out once."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from api.broker.forwarding import FORWARDED
from api.kafka import apis, frames
from api.kafka.apis import BY_REQUEST, Api, by_key
from api.kafka.envelopes import sealed
from api.kafka.errors import CODES
from api.kafka.fields import Request, Response
from api.kafka.frames import LENGTH, RequestFrame
from api.kafka.messages.envelope import NOTHING_COMMITTED, EnvelopeResponse
from api.kafka.messages.topics import CreateTopicsResponse
from api.kafka.topics import creation_request, deletion_request
from api.kafka.translations import TRANSLATIONS
from api.requests.commands import COMMANDS, any_command
from api.service.service import Service
from benchmarks.request_turns import request_frame
from controller.authorization.caller import Caller
from controller.decisions.context.context import Settings
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from controller.results.answer import Answer
from controller.wire import to_wire
from records.errors import FencedError, MetadataLogError, Outcome, RequestError, UnavailableError
from tests.api.guarded import Rights
from tests.api.kafka.servers import Server, server

_CREATION = creation_request(
    CreateTopics(topics=(NewTopic(name="orders", partitions=1, replication_factor=1),))
)
_ANN = Caller(principal="User:ann", host="10.0.0.7")


def _frame(body: Request) -> RequestFrame:
    api = BY_REQUEST[type(body)]
    raw = frames.encode_request(api, api.max_version, 7, body, "script")[LENGTH.size :]
    return frames.decode_request(raw, by_key(apis.ALL))


async def _forwarded(at: Server, frame: RequestFrame, request_id: str | None) -> EnvelopeResponse:
    envelope = sealed(frame, _ANN, request_id)
    return await at.client.connection.request(envelope, EnvelopeResponse)


def _answer(envelope: EnvelopeResponse, api: Api) -> Response:
    assert envelope.error_code == 0
    assert envelope.response_data is not None
    return frames.decode_response(envelope.response_data, api, api.max_version)


async def test_change_is_done_once_and_answered_twice_with_where_it_stands(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        frame = _frame(_CREATION)
        first = await _forwarded(at, frame, "a")
        end = at.service.image.provenance.next_offset
        again = await _forwarded(at, frame, "a")
        other = await _forwarded(at, frame, "b")
        assert at.service.image.provenance.next_offset == end
    answers = [_answer(each, frame.api) for each in (first, again)]
    topics = [each.topics for each in answers if isinstance(each, CreateTopicsResponse)]
    assert topics[0][0].configs
    # Which would be most of what the log holds of the request.
    assert topics[1] == (replace(topics[0][0], configs=()),)
    # The broker waits until it has applied the change, whose first answer it did not get.
    assert (first.committed_offset, again.committed_offset) == (end - 1, end - 1)
    refused = _answer(other, frame.api)
    assert isinstance(refused, CreateTopicsResponse)
    assert [each.error_code for each in refused.topics] == [CODES["TOPIC_ALREADY_EXISTS"]]
    assert other.committed_offset == NOTHING_COMMITTED


async def test_id_of_another_change_is_refused(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _forwarded(at, _frame(_CREATION), "a")
        deletion = _frame(deletion_request(DeleteTopics(topics=("orders",))))
        refused = await _forwarded(at, deletion, "a")
        assert refused.response_data is not None
        assert b"another request" in refused.response_data
        assert at.service.image.topic_by_name("orders") is not None


@pytest.mark.parametrize(
    ("error", "request_id", "code"),
    [
        (RequestError("NOT_CONTROLLER", "no"), "a", "NOT_CONTROLLER"),
        (RequestError("NOT_CONTROLLER", "no"), None, "NOT_CONTROLLER"),
        (FencedError("lost", outcome=Outcome.UNKNOWN), "a", "REQUEST_TIMED_OUT"),
        (UnavailableError("late", outcome=Outcome.UNKNOWN), "a", "REQUEST_TIMED_OUT"),
        (FencedError("lost", outcome=Outcome.UNKNOWN), None, None),
        (UnavailableError("full", outcome=Outcome.NOTHING), "a", None),
        (RequestError("INVALID_REQUEST", "no"), "a", None),
    ],
)
async def test_broker_asks_again_where_nothing_was_done_or_the_id_tells_what_was(
    error: MetadataLogError,
    request_id: str | None,
    code: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fails(self: Service, *_: object, **__: object) -> Answer[Any]:
        raise error

    requests = (_frame(_CREATION), _frame(_command("namespaces create", CreateNamespace("n"))))
    async with server(tmp_path) as at:
        monkeypatch.setattr(Service, "run", fails)
        for frame in requests:
            answer = await _forwarded(at, frame, request_id)
            assert answer.error_code == (0 if code is None else CODES[code])
            assert (answer.response_data is None) is (code is not None)


def _command(name: str, request: Any) -> Request:
    return apis.RUN_COMMAND.request(command=name, payload=to_wire(request))


async def test_id_reaches_whatever_changes_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids: dict[str, set[str | None]] = {}
    run = Service.run

    async def recorded(self: Service, command: str, request: Any, **more: Any) -> Answer[Any]:
        ids.setdefault(any_command(command).name, set()).add(more["origin"].request_id)
        return await run(self, command, request, **more)

    # Without an authorizer that uses ACLs, requests for them are refused.
    async with server(tmp_path, settings=Settings(authorizer=Rights())) as at:
        monkeypatch.setattr(Service, "run", recorded)
        for api in FORWARDED:
            raw = request_frame(api, api.max_version, 1)[LENGTH.size :]
            await _forwarded(at, frames.decode_request(raw, by_key(apis.ALL)), api.name)
        await _forwarded(at, _frame(_command("namespaces create", CreateNamespace("n"))), "run")
    changes = {each.command for each in TRANSLATIONS.values() if each.command in COMMANDS}
    assert changes - ids.keys() == set()
    assert {"topics create", "topics delete", "namespaces create"} <= ids.keys()
    assert [name for name, found in ids.items() if None in found] == []
