"""A tenant gets the same answers whether or not another tenant exists.

So no answer to any command or question, at any point, reveals a name, id, count, size or error of
the other tenant. The requests are random and made from the types in the tables, so new commands are
covered automatically. Offsets, epochs, versions and times of the log are shared, and equal here.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

import pytest

from api.controller_server.listener import ControllerListener, ListenerSettings
from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.dispatch import Handler
from api.kafka.frames import RequestFrame
from api.questions.differences import ShowDiff
from api.questions.objects import ShowImage
from api.questions.rows import ShowRows
from api.questions.table import QUESTIONS, STEPS, find_question
from api.requests.commands import COMMANDS, find_command
from api.requests.wire_requests import WireRequest
from api.service import visible_pages
from api.service.service import Service
from api.service.session import Session
from controller.authorization.caller import Caller
from controller.decisions.topics.topics import CreateTopics, NewTopic
from controller.wire import to_wire
from tests.api.isolation.pair import whole_answer
from tests.api.isolation.requests import Asker
from tests.api.isolation.worlds import ALPHA, BRAVO, Tenant, world

_SIZE = 4
"""Requests of each command and question."""


def _answer(service: Service, asking: Tenant | Caller, request: WireRequest) -> Awaitable[Any]:
    caller = asking.caller if isinstance(asking, Tenant) else asking
    return whole_answer(service, caller, request)


def _requests(asking: Tenant, other: Tenant, rng: random.Random) -> list[WireRequest]:
    """Return requests of every type in the tables, those that change nothing first."""
    asker, made = Asker(asking, other, rng), []
    for name in QUESTIONS:
        for _ in range(_SIZE):
            payload = to_wire(asker.request(find_question(name).request))
            point = rng.choice(("end", "end", "20", "150"))
            made.append(WireRequest(command=name, request=payload, point=point))
    for name in (*STEPS, *COMMANDS):
        for _ in range(_SIZE):
            payload = to_wire(asker.request(find_command(name).request))
            made.append(WireRequest(command=name, request=payload))
    return made


@pytest.mark.parametrize(("asking", "other"), [(ALPHA, BRAVO), (BRAVO, ALPHA)])
async def test_no_answer_tells_whether_another_tenant_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asking: Tenant, other: Tenant
) -> None:
    monkeypatch.setattr(random, "SystemRandom", lambda: random.Random(1))
    requests = _requests(asking, other, random.Random(2))
    async with contextlib.AsyncExitStack() as worlds:
        both = await worlds.enter_async_context(world(tmp_path / "both", asking, other))
        alone = await worlds.enter_async_context(world(tmp_path / "alone", asking, None))
        for request in requests:
            here, there = await asyncio.gather(
                _answer(both, asking, request), _answer(alone, asking, request)
            )
            assert here == there, request


@pytest.mark.parametrize(("asking", "other"), [(ALPHA, BRAVO), (BRAVO, ALPHA)])
async def test_no_kafka_request_tells_whether_another_tenant_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asking: Tenant, other: Tenant
) -> None:
    monkeypatch.setattr(random, "SystemRandom", lambda: random.Random(1))
    rng = random.Random(3)
    asker = Asker(asking, other, rng)
    async with contextlib.AsyncExitStack() as worlds:
        both = await worlds.enter_async_context(world(tmp_path / "both", asking, other))
        alone = await worlds.enter_async_context(world(tmp_path / "alone", asking, None))
        handlers = [_handlers(service) for service in (both, alone)]
        for api in handlers[0]:
            for number in range(10 * _SIZE):
                body = asker.request(api.request)
                version = rng.randint(api.min_version, api.max_version)
                frame = RequestFrame(
                    api=api, version=version, correlation_id=number, client_id="x", body=body
                )
                here, there = [await each[api](frame, asking.caller) for each in handlers]
                assert here == there, frame


def _handlers(service: Service) -> Mapping[Api, Handler]:
    """Return the request handlers of a listener, without `run command`, which is tested
    separately.
    """
    handlers = ControllerListener(service, ListenerSettings()).dispatch_table().handlers
    return {api: handle for api, handle in handlers.items() if api is not apis.RUN_COMMAND}


async def test_a_request_about_two_tenants_is_shown_to_none_of_them(tmp_path: Path) -> None:
    admin = Caller(principal="User:admin")
    new = tuple([NewTopic(name="both", namespace=each.name) for each in (ALPHA, BRAVO)])
    async with world(tmp_path / "log", ALPHA, BRAVO) as service:
        await Session(service, admin).run(CreateTopics(topics=new))
        for asked in (False, True):
            question = to_wire(ShowRows(object="topic:alpha:both", asked=asked))
            request = WireRequest(command="dump", request=question, point="end")
            told = repr(await _answer(service, ALPHA, request))
            assert BRAVO.name not in told
            assert ("CLUSTER_AUTHORIZATION_FAILED" in told) == asked
        assert BRAVO.name in repr(await _answer(service, admin, request))


@pytest.mark.parametrize("kept", [16, 0], ids=["half read", "computed anew"])
async def test_pages_and_their_cursors_tell_no_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(visible_pages, "PAGE_BYTES", 300)
    monkeypatch.setattr(visible_pages, "_KEPT_MAX", kept)
    questions = {"image": ShowImage(), "diff": ShowDiff(before="start")}
    async with (
        world(tmp_path / "both", ALPHA, BRAVO) as both,
        world(tmp_path / "alone", ALPHA, None) as alone,
    ):
        for name, question in questions.items():
            request = WireRequest(command=name, request=to_wire(question), point="end")
            pages = await _answer(both, ALPHA, request)
            assert len(pages) >= 3
            assert pages == await _answer(alone, ALPHA, request)
            assert ALPHA.name in repr(pages)
