"""The class of a request determines its command and the type of its answer."""

import typing
from pathlib import Path

from api.questions.table import STEPS
from api.requests.commands import COMMANDS, find_command, named
from api.service.session import Session
from controller.authorization.caller import Caller
from controller.decisions.brokers.registrations import UnregisterBroker
from controller.decisions.request import Request
from controller.decisions.topics.partition_removal import CancelDeletePartitions
from controller.decisions.topics.topics import CreateTopics, NewTopic, TopicResult
from controller.descriptions.brokers import BrokerDescription, DescribeBroker
from controller.results.answer import Answer
from tests.api.kafka.servers import server

_BARE = (CancelDeletePartitions("a"), DescribeBroker(1), UnregisterBroker(1))


def _declared(request: type[Request[typing.Any]]) -> object:
    """Return the response that the class of a request declares."""
    (base,) = request.__orig_bases__  # type: ignore[attr-defined]
    module = __import__(request.__module__, fromlist=["x"])
    (argument,) = typing.get_args(base)
    if isinstance(argument, typing.ForwardRef):
        return eval(argument.__forward_arg__, vars(module))
    return argument


def test_every_request_declares_the_response_of_its_command() -> None:
    classes = {c.name: c.request for c in map(find_command, (*COMMANDS, *STEPS))}
    classes |= {named(request)[0]: type(request) for request in _BARE}
    for name, request in classes.items():
        response = find_command(name).response
        assert _declared(request) in (response, None if response is type(None) else response), name


async def test_answers_are_typed_by_their_requests(tmp_path: Path) -> None:
    request = CreateTopics(topics=(NewTopic(name="a", partitions=1, replication_factor=1),))
    async with server(tmp_path) as at:
        await at.register(1)
        # The annotations are what mypy checks.
        created: Answer[tuple[TopicResult, ...]] = await at.client.run(request)
        assert created.response[0].refusal is None
        session = Session(at.service, Caller(principal="User:ann"))
        again: Answer[tuple[TopicResult, ...]] = await session.run(request)
        assert again.response[0].refusal is not None
        for one in (at.client.run, session.run):
            described: Answer[BrokerDescription] = await one(DescribeBroker(1))
            assert described.response.broker.broker_id == 1
