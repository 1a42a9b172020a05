"""The conversation of docs/assistants.md is carried out."""

import json
import re
from pathlib import Path

from tests.api.assistants.conftest import over_stdio, told
from tests.docs_console import ROOT

_CALL = re.compile(r"^`(\w+)` `(\{.*?\})`\n\n```json\n(.*?)\n```$", re.MULTILINE | re.DOTALL)

_LEFT_OUT = re.compile(r" ?\.\.\. ?")


async def test_the_calls_have_the_answers_that_are_shown(demo_log: Path) -> None:
    calls = _CALL.findall((ROOT / "docs/assistants.md").read_text())
    assert len(calls) == 5
    async with over_stdio(demo_log) as client:
        for name, arguments, shown in calls:
            found = await told(client, name, **json.loads(arguments))
            pattern = ".*".join([re.escape(part) for part in _LEFT_OUT.split(shown)])
            assert re.fullmatch(pattern, found.data, re.DOTALL), (name, found.data)


def test_the_configurations_are_json() -> None:
    text = (ROOT / "docs/assistants.md").read_text()
    found = [json.loads(block) for block in re.findall(r"```json\n(\{\n.*?)```", text, re.DOTALL)]
    assert [list(each) for each in found] == [["mcpServers"]] * 2
    assert found[0]["mcpServers"]["metalog"]["command"] == "metalog"
