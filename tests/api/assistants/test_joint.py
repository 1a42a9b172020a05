"""The questions about several logs as tools, with the answers of the commands."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from api.assistants.tools import joint_tools
from api.questions.joint import JOINT_QUESTIONS
from tests.api.assistants.conftest import over_stdio, told, whole
from tests.api.assistants.test_rights import ACL
from tests.api.conftest import Metalog
from tests.api.viewer.test_joint import two_nodes
from tests.api.viewer.test_view import state

_REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"logs": ["node1"]}, "compare needs two logs or more"),
    ({"logs": ["nope", "node1"]}, "no log named 'nope' is shown"),
    ({"log": "node1"}, "parameter log: there is no such parameter; there are logs"),
)

QUORUM: dict[str, Any] = {"voters": [1, 2], "kafka": "3.7"}


@pytest.fixture
def nodes(tmp_path: Path) -> tuple[Path, Path]:
    """The directories of two nodes, which nobody imported."""
    return two_nodes(tmp_path)


async def test_several_logs_have_the_tools_and_the_answers_of_the_commands(
    metalog: Metalog, nodes: tuple[Path, Path], log: Path
) -> None:
    before = [state(each) for each in (*nodes, log)]
    compared = metalog("compare", *nodes, "--json").json
    assert compared["behind"] == {str(nodes[1]): 1}
    every = metalog("compare", *nodes, log, "--json").json
    advised = metalog("advise", *nodes, "--voters", "1,2", "--kafka", "3.7", "--json").json
    async with over_stdio(*nodes, log) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools)[:3] == ["logs", *JOINT_QUESTIONS]
        for name, of in JOINT_QUESTIONS.items():
            description, schema = tools[name].description, tools[name].input_schema
            assert description is not None
            assert description.startswith(of.answer)
            jsonschema.Draft202012Validator.check_schema(schema)
            jsonschema.validate({"logs": ["node1", log.name]}, schema)
            with pytest.raises(jsonschema.ValidationError, match="'nope' is not one of"):
                jsonschema.validate({"logs": ["nope"]}, schema)
        assert await whole(client, "compare", logs=["node1", "node2"]) == compared
        assert await whole(client, "compare") == every
        assert await whole(client, "advise", **QUORUM) == advised
        for arguments, why in _REFUSED:
            refused = await told(client, "compare", **arguments)
            assert refused.is_error
            assert why in refused.json["detail"]
    assert [state(each) for each in (*nodes, log)] == before


async def test_a_single_log_has_no_such_tool(log: Path) -> None:
    async with over_stdio(log) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert not names & set(joint_tools())
        for name in joint_tools():
            refused = await told(client, name)
            assert refused.is_error
            said = f"{name} is about several logs, and this server was started with one"
            assert refused.json["detail"] == said


@pytest.fixture
def guarded(metalog: Metalog, tmp_path: Path) -> tuple[Path, Path]:
    """Two logs; User:bob may describe the first one."""
    logs = tmp_path / "allowed", tmp_path / "other"
    for each in logs:
        assert metalog("init", each).code == 0
    acl = ["--principal", "User:bob", "--operation", "describe", "--cluster"]
    assert metalog("acls", "create", *acl, "--log", logs[0]).code == 0
    return logs


async def test_each_log_must_be_described(guarded: tuple[Path, Path]) -> None:
    for principal, code in (("User:root", None), ("User:bob", "CLUSTER_AUTHORIZATION_FAILED")):
        async with over_stdio(*guarded, *ACL, "--as", principal) as client:
            found = await told(client, "compare")
            assert found.json.get("code") == code
            assert found.is_error is (code is not None)
