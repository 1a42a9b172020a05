"""Requests about groups, answered by a cluster without groups."""

from pathlib import Path
from typing import Any

import pytest

from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.fields import Request
from api.kafka.messages.group_offsets import FetchedOffsetsTopic, OffsetFetchRequest
from api.kafka.messages.groups import FindCoordinatorRequest
from controller.authorization.authorizer import Operation, Resource, ResourceType, group_resource
from tests.api.guarded import GROUP_REFUSED, guarded
from tests.api.kafka.group_requests import GROUP_REQUESTS
from tests.api.kafka.servers import server
from tests.api.kafka.test_authorization import error_names

NOT_FOUND = {apis.DESCRIBE_GROUPS, apis.CONSUMER_GROUP_DESCRIBE, apis.DELETE_GROUPS}


@pytest.mark.parametrize("api", GROUP_REQUESTS, ids=lambda api: api.name)
async def test_no_group_has_a_coordinator_and_none_is_found(tmp_path: Path, api: Api) -> None:
    async with server(tmp_path) as at:
        response = await at.client.connection.request(GROUP_REQUESTS[api], api.response)
    expected = "GROUP_ID_NOT_FOUND" if api in NOT_FOUND else "COORDINATOR_NOT_AVAILABLE"
    assert set(error_names(response)) == {expected}


async def test_answers_can_be_said_in_every_version(tmp_path: Path) -> None:
    old: list[tuple[Request, tuple[int, ...], str]] = [
        (FindCoordinatorRequest(key="g"), (0, 3), "COORDINATOR_NOT_AVAILABLE"),
        (
            OffsetFetchRequest(
                group_id="g", topics=(FetchedOffsetsTopic(name="a", partition_indexes=(0,)),)
            ),
            (1, 7),
            "COORDINATOR_NOT_AVAILABLE",
        ),
        (GROUP_REQUESTS[apis.DESCRIBE_GROUPS], (0, 5), "NONE"),
        (GROUP_REQUESTS[apis.JOIN_GROUP], (0, 6), "COORDINATOR_NOT_AVAILABLE"),
        (GROUP_REQUESTS[apis.JOIN_GROUP], (7, 9), "COORDINATOR_NOT_AVAILABLE"),
    ]
    async with server(tmp_path) as at:
        for request, versions, expected in old:
            for version in versions:
                response = await _asked(at, request, version)
                assert set(error_names(response)) == {expected}, (request, version)


async def _asked(at: Any, request: Request, version: int) -> Any:
    api = _api(request)
    return await at.client.connection.request(request, api.response, version=version)


def _api(request: Request) -> Api:
    return apis.BY_REQUEST[type(request)]


async def test_coordinators_of_one_request_are_authorized_one_by_one(tmp_path: Path) -> None:
    transaction = FindCoordinatorRequest(key_type=1, coordinator_keys=("t",))
    share = FindCoordinatorRequest(key_type=2, coordinator_keys=("g",))
    async with guarded(tmp_path) as (at, rights):
        rights.only = {(Operation.DESCRIBE, group_resource("g"))}
        response = await _asked(at, GROUP_REQUESTS[apis.FIND_COORDINATOR], 6)
        assert error_names(response) == ["COORDINATOR_NOT_AVAILABLE", GROUP_REFUSED]
        assert "consumers assign themselves" in response.coordinators[0].error_message
        response = await _asked(at, transaction, 6)
        assert error_names(response) == ["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"]
        rights.only = {(Operation.DESCRIBE, Resource(ResourceType.TRANSACTIONAL_ID, "t"))}
        response = await _asked(at, transaction, 6)
        assert error_names(response) == ["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"]
        assert "this cluster has no transactions" in response.coordinators[0].error_message
        assert error_names(await _asked(at, share, 5)) == ["INVALID_REQUEST"]
        assert error_names(await _asked(at, share, 6)) == [GROUP_REFUSED]
