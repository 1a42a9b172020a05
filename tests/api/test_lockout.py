"""A change of ACLs that would lock its author or the brokers out needs a flag."""

import asyncio
from pathlib import Path

import pytest

from api.kafka.errors import name_of
from api.kafka.messages.acls import CreateAclsRequest, CreateAclsResponse, NewAcl
from api.requests.transactions import Step, Transact
from controller.authorization.acls import AclAuthorizer, PermissionType
from controller.authorization.authorizer import CLUSTER, Operation, topic_resource
from controller.authorization.caller import CONTROLLER, Caller
from controller.decisions.context.context import Settings
from controller.decisions.security.acls import AclBinding, AclFilter, CreateAcls, DeleteAcls
from records.errors import RequestError
from tests.api.conftest import Metalog
from tests.api.kafka.servers import Server, server

OPEN = Settings(authorizer=AclAuthorizer(allow_everyone=True))
ANN = Caller(principal="User:ann")
EVERYBODY = "User:*"
BROKERS = "User:ANONYMOUS"


def on_cluster(
    principal: str, operation: Operation, permission: PermissionType = PermissionType.ALLOW
) -> AclBinding:
    return AclBinding(
        resource_type=CLUSTER.type.value,
        resource_name=CLUSTER.name,
        principal=principal,
        operation=operation.value,
        permission_type=permission.value,
    )


OF_ANN = on_cluster("User:ann", Operation.ALTER)
OF_BROKERS = on_cluster(BROKERS, Operation.CLUSTER_ACTION)
DENY_ALTER = on_cluster(EVERYBODY, Operation.ALTER, PermissionType.DENY)


async def refusal(at: Server, *acls: AclBinding, caller: Caller = ANN) -> str:
    end_offset = at.service.image.provenance.next_offset
    with pytest.raises(RequestError) as caught:
        await at.service.run("acls create", CreateAcls(acls=acls), caller=caller)
    assert caught.value.code == "POLICY_VIOLATION"
    assert at.service.image.provenance.next_offset == end_offset, "nothing is written"
    return str(caught.value)


async def create(at: Server, *acls: AclBinding, allow_lockout: bool = False) -> None:
    request = CreateAcls(acls=acls, allow_lockout=allow_lockout)
    answer = await at.service.run("acls create", request, caller=ANN)
    assert all(each.created for each in answer.response)


async def test_entries_on_the_cluster_that_lock_out_are_refused_together_they_are_not(
    tmp_path: Path,
) -> None:
    async with server(tmp_path, settings=OPEN) as at:
        await at.register(1)
        await at.register(2)
        brokers = f"brokers 1, 2 ({BROKERS}) could not reach the controller any more"
        ann = "User:ann could not change ACLs any more"
        both = await refusal(at, on_cluster("User:bob", Operation.DESCRIBE))
        assert both.startswith(f"{ann} and {brokers}; ")
        assert (await refusal(at, OF_BROKERS)).startswith(f"{ann}; ")
        assert (await refusal(at, OF_ANN)).startswith(f"{brokers}; ")
        assert (await refusal(at, OF_ANN, caller=CONTROLLER)).startswith(f"{brokers}; ")
        await create(at, OF_ANN, OF_BROKERS)
        assert (await refusal(at, DENY_ALTER)).startswith(f"{ann}; ")


async def test_flag_allows_it_and_other_resources_need_none(tmp_path: Path) -> None:
    async with server(tmp_path, settings=OPEN) as at:
        await at.register(1)
        topic = topic_resource("a")
        await create(
            at,
            AclBinding(
                resource_type=topic.type.value,
                resource_name=topic.name,
                principal="User:bob",
                operation=Operation.READ.value,
            ),
        )
        await create(at, OF_BROKERS, allow_lockout=True)


async def test_deletion_that_locks_out_is_refused(tmp_path: Path) -> None:
    async with server(tmp_path, settings=OPEN) as at:
        await at.register(1)
        await create(at, OF_ANN, OF_BROKERS)
        request = DeleteAcls(filters=(AclFilter(principal=BROKERS),))
        with pytest.raises(RequestError, match=r"brokers 1 .* could not reach"):
            await at.service.run("acls delete", request, caller=ANN)
        # Without any entry everybody may do everything again.
        everything = DeleteAcls(filters=(AclFilter(),))
        answer = await at.service.run("acls delete", everything, caller=ANN)
        assert len(answer.response[0].deleted) == 2


async def test_steps_of_a_transaction_are_checked_together(tmp_path: Path) -> None:
    async with server(tmp_path, settings=OPEN) as at:
        await at.register(1)
        steps = [Step.of("acls create", CreateAcls(acls=(acl,))) for acl in (OF_ANN, OF_BROKERS)]
        with pytest.raises(RequestError, match=r"brokers 1 .* could not reach"):
            await at.service.run("transaction", Transact(steps=(steps[0],)), caller=ANN)
        await at.service.run("transaction", Transact(steps=tuple(steps)), caller=ANN)


async def test_flag_of_one_step_does_not_allow_another(tmp_path: Path) -> None:
    async with server(tmp_path, settings=OPEN) as at:
        await at.register(1)
        requests = (
            CreateAcls(acls=(OF_ANN,)),
            CreateAcls(acls=(on_cluster("User:eve", Operation.ALTER),), allow_lockout=True),
        )
        steps = tuple([Step.of("acls create", request) for request in requests])
        with pytest.raises(RequestError, match=r"brokers 1 .* could not reach"):
            await at.service.run("transaction", Transact(steps=steps), caller=ANN)


async def test_client_of_kafka_gets_the_sentence(tmp_path: Path) -> None:
    async with server(tmp_path, settings=OPEN) as at:
        await at.register(1)
        fields = NewAcl(
            resource_type=CLUSTER.type.value,
            resource_name=CLUSTER.name,
            resource_pattern_type=3,
            principal="User:bob",
            host="*",
            operation=Operation.DESCRIBE.value,
            permission_type=PermissionType.ALLOW.value,
        )
        request = CreateAclsRequest(creations=(fields,))
        response = await at.client.connection.request(request, CreateAclsResponse)
        assert name_of(response.results[0].error_code) == "POLICY_VIOLATION"
        assert "--allow-lockout" in str(response.results[0].error_message)


async def test_who_has_the_folder_can_let_everybody_in_again(
    tmp_path: Path, metalog: Metalog
) -> None:
    async with server(tmp_path, settings=OPEN) as at:
        await create(at, on_cluster("User:bob", Operation.DESCRIBE), allow_lockout=True)
        with pytest.raises(RequestError, match="may not ALTER the cluster"):
            await create(at, OF_ANN)
    await asyncio.to_thread(metalog, "acls", "delete", "--all", "--log", tmp_path / "log")
    async with server(tmp_path, settings=OPEN) as at:
        await create(at, OF_ANN)
