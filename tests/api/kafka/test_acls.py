"""Kafka's ACL requests, sent by unmodified clients."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from api.kafka.errors import name_of
from api.kafka.messages.acls import (
    AclFilterFields,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
    NewAcl,
)
from controller.authorization.authorizer import Operation, Resource, ResourceType
from controller.decisions.security import acls
from controller.decisions.security.acls import CreateAcls
from controller.descriptions.acls import ListAcls
from tests.api.kafka.servers import server
from tests.api.test_acl_service import entry, settings

_GROUP, _TOPIC = "DENY User:bob READ GROUP LITERAL g", "ALLOW User:bob READ TOPIC PREFIXED orders"


@pytest.mark.parametrize(
    ("client", "refusal"),
    [("kafka_python_acls", "InvalidRequestError"), ("librdkafka_acls", "INVALID_REQUEST")],
)
async def test_unmodified_client_creates_describes_and_deletes_acls(
    tmp_path: Path, client: str, refusal: str
) -> None:
    async with server(tmp_path, settings=settings()) as at:
        # Clients go on with the brokers that they are told of.
        await at.register(1, address=("127.0.0.1", at.port))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", f"tests.stories.{client}", f"127.0.0.1:{at.port}"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(60):
            out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-2_000:]
    assert json.loads(out) == {
        "created": 2,
        "refused": [refusal],
        "listed": [_TOPIC, _GROUP],
        "counting": [_TOPIC],
        "deleted": [_TOPIC, _GROUP],
        "left": 0,
    }


async def test_entries_on_namespaces_are_neither_shown_to_nor_deleted_by_kafkas_clients(
    tmp_path: Path,
) -> None:
    async with server(tmp_path, settings=settings()) as at:
        made = entry(Operation.READ, Resource(ResourceType.NAMESPACE, "org"))
        await at.client.run("acls create", CreateAcls(acls=(made,)))
        anything = AclFilterFields(pattern_type_filter=1)
        gone = await at.client.connection.request(
            DeleteAclsRequest(filters=(anything,)), DeleteAclsResponse
        )
        assert gone.filter_results[0].matching_acls == ()
        found = await at.client.connection.request(
            DescribeAclsRequest(pattern_type_filter=1), DescribeAclsResponse
        )
        assert found.resources == ()
        assert len((await at.client.run("acls list", ListAcls())).response) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"resource_type": 0},
        {"resource_type": 1},
        {"resource_type": 8},
        {"resource_name": ""},
        {"resource_pattern_type": 1},
        {"resource_pattern_type": 2},
        {"operation": 0},
        {"operation": 1},
        {"operation": 16},
        {"permission_type": 1},
        {"principal": "bob"},
        {"resource_type": 4, "resource_name": "other"},
    ],
    ids=str,
)
async def test_what_is_no_entry_is_refused_alone(tmp_path: Path, wrong: dict[str, object]) -> None:
    good = {
        "resource_type": 2,
        "resource_name": "orders",
        "resource_pattern_type": 3,
        "principal": "User:bob",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    acls = tuple([NewAcl(**{**good, **more}) for more in (wrong, {})])  # type: ignore[arg-type]
    async with server(tmp_path, settings=settings()) as at:
        answer = await at.client.connection.request(
            CreateAclsRequest(creations=acls), CreateAclsResponse
        )
        assert [name_of(r.error_code) for r in answer.results] == ["INVALID_REQUEST", "NONE"]
        assert len(list(at.service.image.acls())) == 1


async def test_filters_with_unknown_codes_are_refused(tmp_path: Path) -> None:
    async with server(tmp_path, settings=settings()) as at:
        unknown = AclFilterFields(resource_type_filter=0)
        gone = await at.client.connection.request(
            DeleteAclsRequest(filters=(unknown, AclFilterFields())), DeleteAclsResponse
        )
        codes = [name_of(result.error_code) for result in gone.filter_results]
        assert codes == ["INVALID_REQUEST", "NONE"]
        found = await at.client.connection.request(
            DescribeAclsRequest(operation=99), DescribeAclsResponse
        )
        assert name_of(found.error_code) == "INVALID_REQUEST"


async def test_filters_that_are_compared_with_too_many_entries_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acls, "COMPARISONS_MAX", 5)
    async with server(tmp_path, settings=settings()) as at:
        topics = [Resource(ResourceType.TOPIC, name) for name in ("a", "b", "c")]
        created = tuple([entry(Operation.READ, topic) for topic in topics])
        await at.client.run("acls create", CreateAcls(acls=created))

        async def delete(count: int) -> list[tuple[str, int]]:
            request = DeleteAclsRequest(filters=(AclFilterFields(),) * count)
            gone = await at.client.connection.request(request, DeleteAclsResponse)
            return [(name_of(r.error_code), len(r.matching_acls)) for r in gone.filter_results]

        assert await delete(2) == [("POLICY_VIOLATION", 0)] * 2
        assert len(list(at.service.image.acls())) == 3
        assert await delete(1) == [("NONE", 3)]


async def test_without_an_authorizer_kafkas_clients_are_told_so(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        found = await at.client.connection.request(DescribeAclsRequest(), DescribeAclsResponse)
        assert name_of(found.error_code) == "SECURITY_DISABLED"
        assert found.resources == ()
