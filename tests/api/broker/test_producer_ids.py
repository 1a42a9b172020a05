"""Brokers take blocks of producer ids from the log, and give ids to clients with write access."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from api.broker.producer_ids import ProducerIds
from api.kafka import apis
from api.kafka.errors import name_of
from api.kafka.frames import RequestFrame
from api.kafka.messages.producers import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from controller.authorization.acls import AclAuthorizer, PatternType, PermissionType
from controller.authorization.authorizer import UNRESTRICTED, Access, Operation, ResourceType
from controller.authorization.caller import Caller
from controller.decisions.security.acls import AclBinding, CreateAcls, create_acls
from records.errors import UnavailableError
from tests.api.kafka.servers import server
from tests.controller.cluster import Cluster

ANN = Caller(principal="User:ann", host="192.0.2.1")
_TOPIC, _CLUSTER = ResourceType.TOPIC, ResourceType.CLUSTER


async def _answer(ids: ProducerIds, **fields: Any) -> InitProducerIdResponse:
    request = InitProducerIdRequest(
        **{"transactional_id": None, "transaction_timeout_ms": 0, **fields}
    )
    frame = RequestFrame(
        api=apis.INIT_PRODUCER_ID, version=5, correlation_id=1, client_id=None, body=request
    )
    response = await ids.init(frame, ANN)
    assert isinstance(response, InitProducerIdResponse)
    return response


def _blocks(*blocks: range) -> Callable[[], Awaitable[range]]:
    rest = iter(blocks)

    async def allocate() -> range:
        await asyncio.sleep(0)
        found = next(rest, None)
        if found is None:
            raise UnavailableError("there is no controller")
        return found

    return allocate


async def test_ids_of_the_next_block_follow_when_one_is_used_up() -> None:
    ids = ProducerIds(_blocks(range(1_000, 1_002), range(5_000, 5_002)), lambda _: UNRESTRICTED)
    answers = await asyncio.gather(*[_answer(ids) for _ in range(4)])
    assert [each.producer_id for each in answers] == [1_000, 1_001, 5_000, 5_001]
    assert {each.producer_epoch for each in answers} == {0}
    # Retriable: a controller will be there again.
    assert name_of((await _answer(ids)).error_code) == "COORDINATOR_LOAD_IN_PROGRESS"


@pytest.mark.parametrize(
    "fields",
    [
        {"transactional_id": "t"},
        {"transactional_id": ""},
        {"producer_id": 5},
        {"producer_epoch": 0},
    ],
)
async def test_what_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    ids = ProducerIds(_blocks(), lambda _: UNRESTRICTED)
    assert name_of((await _answer(ids, **fields)).error_code) == "INVALID_REQUEST"


def _acl(of: ResourceType, name: str, operation: Operation, **fields: Any) -> AclBinding:
    return AclBinding(
        resource_type=of.value,
        resource_name=name,
        principal="User:ann",
        operation=operation.value,
        **fields,
    )


_PREFIXED = {"pattern_type": PatternType.PREFIXED.value}
_DENIED = {"permission_type": PermissionType.DENY.value}
_ON_CLUSTER = _acl(_CLUSTER, "kafka-cluster", Operation.IDEMPOTENT_WRITE)
_WRITE_TO_ONE = _acl(_TOPIC, "orders", Operation.WRITE)


@pytest.mark.parametrize(
    ("acls", "allowed"),
    [
        ([], False),
        ([_ON_CLUSTER], True),
        ([_WRITE_TO_ONE], True),
        ([_acl(_TOPIC, "orders", Operation.ALL)], True),
        ([_acl(_TOPIC, "ord", Operation.WRITE, **_PREFIXED)], True),
        ([_acl(_TOPIC, "*", Operation.WRITE)], True),
        ([_acl(_TOPIC, "orders", Operation.READ)], False),
        ([_WRITE_TO_ONE, _acl(_TOPIC, "orders", Operation.WRITE, **_DENIED)], False),
        ([_WRITE_TO_ONE, _acl(_TOPIC, "*", Operation.ALL, **_DENIED)], False),
        ([_WRITE_TO_ONE, _acl(_TOPIC, "o", Operation.WRITE, **_PREFIXED, **_DENIED)], False),
        ([_WRITE_TO_ONE, _acl(_TOPIC, "orders-", Operation.WRITE, **_PREFIXED, **_DENIED)], True),
    ],
)
async def test_only_those_who_may_write_get_an_id(acls: list[AclBinding], allowed: bool) -> None:
    cluster = Cluster()
    cluster.do(create_acls, CreateAcls(acls=tuple(acls)))
    access = Access(AclAuthorizer(), cluster.image, ANN)
    answer = await _answer(ProducerIds(_blocks(range(1)), lambda _: access))
    expected = "NONE" if allowed else "CLUSTER_AUTHORIZATION_FAILED"
    assert name_of(answer.error_code) == expected


async def test_controller_gives_each_broker_blocks_of_its_own(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        epochs = {broker_id: await at.register(broker_id) for broker_id in (1, 2)}
        found = [
            await at.client.connection.request(
                AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epochs[broker_id]),
                AllocateProducerIdsResponse,
            )
            for broker_id in (1, 2, 1)
        ]
        stale = await at.client.connection.request(
            AllocateProducerIdsRequest(broker_id=1, broker_epoch=epochs[1] - 1),
            AllocateProducerIdsResponse,
        )
        kept = at.service.image.producer_ids
    assert [(each.producer_id_start, each.producer_id_len) for each in found] == [
        (0, 1_000),
        (1_000, 1_000),
        (2_000, 1_000),
    ]
    assert name_of(stale.error_code) == "STALE_BROKER_EPOCH"
    assert kept is not None and kept.next_producer_id == 3_000
