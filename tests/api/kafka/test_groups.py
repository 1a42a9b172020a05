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

NOT_FOUND = {
    apis.DESCRIBE_GROUPS,
    apis.CONSUMER_GROUP_DESCRIBE,
    apis.DELETE_GROUPS,
    apis.OFFSET_DELETE,
}
ANSWERED = {apis.FIND_COORDINATOR, apis.OFFSET_FETCH}
"""What consumers ask that assign themselves partitions."""


@pytest.mark.parametrize("api", GROUP_REQUESTS, ids=lambda api: api.name)
async def test_members_are_refused_and_no_group_is_found(tmp_path: Path, api: Api) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        response = await at.client.connection.request(GROUP_REQUESTS[api], api.response)
    expected = GROUP_REFUSED
    if api in NOT_FOUND:
        expected = "GROUP_ID_NOT_FOUND"
    elif api in ANSWERED:
        expected = "NONE"
    assert set(error_names(response)) == {expected}


async def test_groups_are_spread_over_the_live_brokers(tmp_path: Path) -> None:
    keys = tuple([f"group {number}" for number in range(30)])
    request = FindCoordinatorRequest(coordinator_keys=keys)
    async with server(tmp_path) as at:
        none = await _asked(at, request, 6)
        assert set(error_names(none)) == {"COORDINATOR_NOT_AVAILABLE"}, "no broker is live"
        for broker_id in (1, 2, 3):
            await at.register(broker_id)
        found = (await _asked(at, request, 6)).coordinators
        alone = await _asked(at, FindCoordinatorRequest(key="group 7"), 3)
    addresses = {(each.node_id, each.host, each.port) for each in found}
    assert addresses == {(1, "h", 9001), (2, "h", 9002), (3, "h", 9003)}
    assert (alone.node_id, alone.port) == (found[7].node_id, found[7].port)


async def test_no_offset_is_committed_and_a_commit_is_refused(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        refused = await _asked(at, GROUP_REQUESTS[apis.OFFSET_COMMIT], 10)
        assert error_names(refused) == [GROUP_REFUSED]
        fetched = await _asked(at, GROUP_REQUESTS[apis.OFFSET_FETCH], 10)
    partitions = fetched.groups[0].topics[0].partitions
    assert [(each.partition_index, each.committed_offset) for each in partitions] == [
        (0, -1),
        (1, -1),
    ]


async def test_a_member_of_the_new_protocol_is_told_what_to_do(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        heartbeat = GROUP_REQUESTS[apis.CONSUMER_GROUP_HEARTBEAT]
        response = await _asked(at, heartbeat, 1)
    assert response.error_message == (
        "this cluster keeps no groups; assign partitions instead of subscribing"
    )


async def test_answers_can_be_said_in_every_version(tmp_path: Path) -> None:
    old: list[tuple[Request, tuple[int, ...], str]] = [
        (FindCoordinatorRequest(key="g"), (0, 3), "NONE"),
        (
            OffsetFetchRequest(
                group_id="g", topics=(FetchedOffsetsTopic(name="a", partition_indexes=(0,)),)
            ),
            (1, 7),
            "NONE",
        ),
        (GROUP_REQUESTS[apis.DESCRIBE_GROUPS], (0, 5), "NONE"),
        (GROUP_REQUESTS[apis.JOIN_GROUP], (0, 6), GROUP_REFUSED),
        (GROUP_REQUESTS[apis.JOIN_GROUP], (7, 9), GROUP_REFUSED),
    ]
    async with server(tmp_path) as at:
        await at.register(1)
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
        assert error_names(response) == ["NONE", GROUP_REFUSED]
        assert response.coordinators[1].node_id == -1
        response = await _asked(at, transaction, 6)
        assert error_names(response) == ["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"]
        rights.only = {(Operation.DESCRIBE, Resource(ResourceType.TRANSACTIONAL_ID, "t"))}
        response = await _asked(at, transaction, 6)
        assert error_names(response) == ["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"]
        assert "this cluster has no transactions" in response.coordinators[0].error_message
        assert error_names(await _asked(at, share, 5)) == ["INVALID_REQUEST"]
        assert error_names(await _asked(at, share, 6)) == [GROUP_REFUSED]
