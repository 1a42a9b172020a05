"""Resources: the summary, the records of a range, and the page of a report."""

import json
from pathlib import Path
from urllib.parse import quote

import mcp_types as types
import pytest
from mcp import Client, MCPError

from tests.api.assistants.conftest import over_stdio, told_by
from tests.api.conftest import Metalog


async def text_of(client: Client, uri: str) -> types.TextResourceContents:
    (found,) = (await client.read_resource(uri)).contents
    assert isinstance(found, types.TextResourceContents)
    return found


async def test_summary_and_records_of_a_range(metalog: Metalog, log: Path) -> None:
    async with over_stdio(log) as client:
        (summary,) = (await client.list_resources()).resources
        assert summary.uri == f"metalog://{quote('a log')}/summary"
        found = told_by((await text_of(client, summary.uri)).text).json
        assert found == metalog("summary", log, "--json").json
        (records,) = (await client.list_resource_templates()).resource_templates
        base, _, names = records.uri_template.partition("{?")
        assert names == "from,to,limit,cursor}"
        uri = f"{base}?from=10&to=14"
        rows = json.loads(told_by((await text_of(client, uri)).text).data)
        assert rows[:-1] == metalog("dump", log, "--from", 10, "--to", 14, "--json").lines
        first = told_by((await text_of(client, f"{uri}&limit=2")).text)
        rest = told_by((await text_of(client, f"{uri}&cursor={first.cursor}")).text)
        offsets = [row["offset"] for part in (first, rest) for row in part.json if "offset" in row]
        assert offsets == [10, 11, 12, 13, 14]


async def test_a_report_is_a_page_that_a_tool_links(log: Path) -> None:
    async with over_stdio(log) as client:
        (link,) = (await client.call_tool("report", {"from": "10", "to": "40"})).content
        assert isinstance(link, types.ResourceLink)
        page = await text_of(client, link.uri)
        assert page.mime_type == "text/html"
        assert page.text.startswith("<!doctype html>")
        with pytest.raises(MCPError, match="OFFSET_OUT_OF_RANGE"):
            await client.read_resource(f"{link.uri.partition('?')[0]}?from=99999999")


NO_RESOURCES = {
    "file:///etc/passwd": "does not begin with metalog://",
    "metalog://other/summary": "there is no log 'other'",
    "metalog://a%20log/../../metrics": "there is no tool",
    "metalog://a%20log/dump?from=10&show_secrets=true": "there is no such parameter",
}


async def test_nothing_else_is_a_resource(log: Path) -> None:
    async with over_stdio(log) as client:
        for uri, why in NO_RESOURCES.items():
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert why in str(refused.value)
