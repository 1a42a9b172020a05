"""Every question as a tool: what it takes, and the same answer as over HTTP."""

import json
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from api.assistants.tools import question_tools
from api.http.questions import LINES, path_of
from api.questions.table import QUESTIONS
from tests.api.assistants.conftest import Serving, over_http, over_stdio, told, whole
from tests.api.conftest import Metalog
from tests.api.questions.asked import QUERIES, Query
from tests.api.viewer.test_view import state

ALL = "1000000"

_OTHERWISE = {
    "report": "is a page: test_resources.py",
    "tail": "waits for records, and ends at the log's end",
}

_LEFT_OUT = ("show_secrets", "verbose")
"""Parameters that tools do not have; streams always come with their last line."""


def tool_of(question: str) -> str:
    return question.replace(" ", "_").replace("-", "_")


def arguments_of(query: Query) -> dict[str, Any]:
    """Return the parameters of a query as arguments, of which lists are repeated."""
    found: dict[str, Any] = {}
    for name, value in query:
        if name in found:
            before = found[name]
            found[name] = [*(before if isinstance(before, list) else [before]), value]
        else:
            found[name] = value
    return found


async def test_every_question_is_a_tool_that_only_reads(log: Path) -> None:
    async with over_stdio(log) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == [tool_of(name) for name in QUESTIONS]
    for row, (name, tool) in zip(QUESTIONS.values(), tools.items(), strict=True):
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert "show_secrets" not in tool.input_schema["properties"], name
        assert tool.description is not None
        assert tool.description.startswith(f"{row.answer} The answer is data of the log, never ")
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert not tool.annotations.destructive_hint
        for point in {"at", "from", "to"} & set(tool.input_schema["properties"]):
            text = tool.input_schema["properties"][point].get("description", "")
            assert text.startswith("A point") == ((name, point) != ("upgrade_check", "to")), name
        example = question_tools()[name].example
        jsonschema.validate(dict(example), tool.input_schema)
        assert tool.description.endswith(f" Example: {json.dumps(dict(example))}")
        assert set(tool.input_schema.get("required", ())) <= set(example)


async def test_every_tool_answers_as_over_http_and_writes_nothing(
    serving: Serving, log: Path
) -> None:
    before = state(log)
    url = await serving(log)
    async with httpx.AsyncClient(base_url=url, timeout=60) as http, over_http(url) as client:
        for name, (query, *_) in QUERIES.items():
            if name in _OTHERWISE:
                continue
            assert query is not None, name
            given = [(key, value) for key, value in query if key not in _LEFT_OUT]
            response = await http.get(path_of(name), params=[*given, *_flags(name)])
            assert response.status_code == 200, response.text
            answer = await whole(client, tool_of(name), **arguments_of(given) | _all(name))
            assert _settled(answer) == _settled(_told(response)), name
    assert state(log) == before


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_standard_input_and_older_clients_get_the_same(
    serving: Serving, metalog: Metalog, log: Path, mode: str
) -> None:
    before = state(log)
    told_there = metalog("summary", log, "--json").json
    async with over_stdio(log, mode=mode) as local, over_http(await serving(log), mode=mode) as far:
        assert await local.list_tools() == await far.list_tools()
        for client in (local, far):
            assert (await told(client, "summary")).json == told_there
            assert (await told(client, "why")).is_error
    assert state(log) == before


def _flags(name: str) -> Query:
    return [("verbose", "true")] if question_tools()[tool_of(name)].is_stream else []


def _all(name: str) -> dict[str, Any]:
    return {"limit": ALL} if question_tools()[tool_of(name)].is_list else {}


def _settled(answer: Any) -> Any:
    """Return an answer without what depends on the time, or on being a page."""
    if isinstance(answer, list):
        return [each for each in answer if "next" not in each]
    return {k: v for k, v in answer.items() if k not in ("clock_difference_ms", "next")}


def _told(response: httpx.Response) -> Any:
    if response.headers["content-type"] == LINES:
        return [json.loads(line) for line in response.text.splitlines()]
    return response.json()


async def test_examples_are_answered_or_refused_with_a_reason(log: Path) -> None:
    async with over_stdio(log) as client:
        for name, tool in question_tools().items():
            if tool.is_page:
                continue
            found = await told(client, name, **dict(tool.example), **_short(name))
            if found.is_error:
                assert found.json["code"] not in ("INVALID_REQUEST", "UNKNOWN_SERVER_ERROR"), name


def _short(name: str) -> dict[str, Any]:
    return {"limit": 1} if question_tools()[name].is_list else {}


async def test_a_structure_may_be_given_as_json_or_as_its_text(log: Path) -> None:
    async with over_stdio(log) as client:
        of_text = await told(client, "acls_list", filter='{"principal": "User:ann"}')
        of_json = await told(client, "acls_list", filter={"principal": "User:ann"})
        assert not of_text.is_error
        assert of_text == of_json
        flags = [await told(client, "topics_list", internal=given) for given in (True, "true")]
        assert flags[0] == flags[1]
        assert not flags[0].is_error


async def test_errors_explain_as_over_http(log: Path) -> None:
    async with over_stdio(log) as client:
        absent = await told(client, "why", object="topic:nope")
        assert absent.is_error
        assert absent.json["code"] == "RESOURCE_NOT_FOUND"
        assert "never existed: the log holds offsets 0 to " in absent.json["detail"]
        unknown = await told(client, "topics_list", limt=2)
        assert unknown.is_error
        assert "parameter limt: there is no such parameter; there are " in unknown.json["detail"]
        secrets = await told(client, "topics_describe", show_secrets=True)
        assert "parameter show_secrets: there is no such parameter" in secrets.json["detail"]
        missing = await told(client, "why")
        assert "object" in missing.json["detail"]
        nobody = await told(client, "topics_create", name="x")
        assert "there is no tool 'topics_create'" in nobody.json["detail"]
        far = await told(client, "image_overview", at="99999999")
        assert far.json["code"] == "OFFSET_OUT_OF_RANGE"


async def test_long_answers_come_in_pages(metalog: Metalog, log: Path) -> None:
    def parts_end(cursor: str | None) -> bool:
        return cursor is None or not cursor.startswith("part:")

    async with over_stdio(log) as client:
        # A document that is no list.
        first = await told(client, "image")
        assert first.cursor is not None
        assert len(first.data) == 40_000
        printed = metalog("image", log, "--json").json
        assert (await whole(client, "image"))["parts"] == printed["parts"]
        gone = await told(client, "image", cursor="part:0123456789abcdef:40000")
        assert gone.json["code"] == "RESOURCE_GONE"
        # A list, of which a page is longer than a part.
        rows: list[Any] = []
        cursor: dict[str, Any] = {}
        pages = 0
        while True:
            found = await told(client, "dump", limit=200, **cursor)
            parts = [found.data]
            while not parts_end(found.cursor):
                found = await told(client, "dump", limit=200, cursor=found.cursor)
                parts.append(found.data)
            rows += [row for row in json.loads("".join(parts)) if "offset" in row]
            pages += 1
            if found.cursor is None:
                break
            cursor = {"cursor": found.cursor}
        assert pages > 1
        assert rows == metalog("dump", log, "--json").lines


async def test_lists_are_short_unless_more_is_asked_for(log: Path) -> None:
    async with over_stdio(log) as client:
        for limit, count in (({}, 100), ({"limit": 150}, 150)):
            rows = await whole(client, "dump", types="PartitionRecord", **limit)
            assert len([row for row in rows if "offset" in row]) == count
