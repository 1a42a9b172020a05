"""A service that authorizes with the ACLs in its log."""

from pathlib import Path

import pytest

from api.questions.history import ShowHistory
from api.security.listeners import LOCAL
from controller.authorization.acls import ALLOW_EVERYONE, SUPER_USERS, AclAuthorizer
from controller.authorization.authorizer import Operation, Resource, ResourceType
from controller.decisions.context.context import Settings
from controller.decisions.security.acls import AclBinding, CreateAcls
from controller.decisions.topics.topics import CreateTopics, NewTopic
from controller.descriptions.acls import ExplainAccess
from controller.descriptions.topics import ListTopics
from records.errors import RequestError
from tests.api.conftest import Metalog
from tests.api.guarded import TOPIC_REFUSED
from tests.api.kafka.servers import Server, server

ANONYMOUS = "User:ANONYMOUS"


def settings(**configs: str) -> Settings:
    """Settings of a service where unauthenticated clients are super users."""
    static = {SUPER_USERS: ANONYMOUS, **configs}
    return Settings(static_configs=static, authorizer=AclAuthorizer.of(static))


def entry(operation: Operation, resource: Resource, principal: str = "User:bob") -> AclBinding:
    return AclBinding(
        resource_type=resource.type.value,
        resource_name=resource.name,
        principal=principal,
        operation=operation.value,
    )


async def _names(at: Server, principal: str) -> list[str]:
    answer = await at.socket_client.run("topics list", ListTopics(), principal=principal)
    return [topic.name for topic in answer.response]


async def test_callers_get_what_the_acls_allow_from_the_commit_on(tmp_path: Path) -> None:
    async with server(tmp_path, settings=settings(), socket=LOCAL) as at:
        await at.register(1)
        new = tuple([NewTopic(name=name) for name in ("a", "ab", "b")])
        await at.client.run("topics create", CreateTopics(topics=new))
        assert await _names(at, "User:bob") == []
        topics = Resource(ResourceType.TOPIC, "a")
        await at.client.run("acls create", CreateAcls(acls=(entry(Operation.READ, topics),)))
        assert await _names(at, "User:bob") == ["a"]
        with pytest.raises(RequestError) as caught:
            await at.socket_client.page(
                "history", ShowHistory(object="topic:ab"), principal="User:bob"
            )
        assert caught.value.code == TOPIC_REFUSED
        assert await _names(at, "User:cat") == []


async def test_the_settings_of_the_service_count_in_explanations(tmp_path: Path) -> None:
    options = settings(**{ALLOW_EVERYONE: "true"})
    async with server(tmp_path, settings=options) as at:

        async def explained(principal: str) -> tuple[bool, str]:
            request = ExplainAccess(
                principal=principal, operation=3, resource_type=2, resource_name="t"
            )
            answer = (await at.client.run("acls explain", request)).response
            return answer.allowed, answer.reason

        assert await explained(ANONYMOUS) == (True, "super user")
        assert await explained("User:bob") == (True, "no entry at all")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--authorizer", "acls"],
        ["--authorizer", "acl", "--super-user", "ann"],
        ["--super-user", "User:ann"],
        ["--config", "super.users=User:ann"],
        ["--authorizer", "acl", "--config", "super.users=User:bob;ann"],
        ["--config", "allow.everyone.if.no.acl.found=true"],
        ["--authorizer", "acl", "--config", "allow.everyone.if.no.acl.found=yes"],
    ],
)
def test_authorizers_that_are_none_are_wrong_usage(
    metalog: Metalog, tmp_path: Path, arguments: list[str]
) -> None:
    metalog("init", tmp_path / "log")
    assert metalog("serve", tmp_path / "log", *arguments).code == 2


def test_secret_key_is_no_argument(metalog: Metalog, tmp_path: Path) -> None:
    metalog("init", tmp_path / "log")
    key = "delegation.token.secret.key=hidden"
    refused = metalog("serve", tmp_path / "log", "--config", key)
    assert refused.code == 2
    assert "--secret-key-file" in refused.err
    assert "hidden" not in refused.err
