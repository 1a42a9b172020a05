"""The OpenAPI document, its examples, and the page that shows it."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from api.http.commands import APPEND
from api.http.questions import path_of
from api.questions.table import QUESTIONS
from api.requests.commands import COMMANDS
from api.requests.json_requests import request_class, request_from_json
from controller.decisions.config_definitions.resources import ConfigResourceType
from records.command_names import LOGGED_NAMES
from replay.image.configs import RESOURCE_TYPES
from tests.api.http.conftest import Web
from tests.api.vocabulary import check_vocabulary


async def test_every_operation_is_described(web: Web) -> None:
    document = (await web.http.get("/openapi.json")).json()
    paths = document["paths"]
    names = {*COMMANDS, *LOGGED_NAMES}
    assert {path_of(name) for name in names} == {p for p, of in paths.items() if "post" in of}
    assert {path_of(name) for name in QUESTIONS} < {p for p, of in paths.items() if "get" in of}
    assert {path for path in paths if not path.startswith("/v1/")} == {
        "/health",
        "/ready",
        "/metrics",
    }
    for name, row in QUESTIONS.items():
        assert paths[path_of(name)]["get"]["summary"] == row.answer
    named = set(re.findall(r"#/components/schemas/(\w+)", str(document)))
    assert named == document["components"]["schemas"].keys()


async def test_generators_can_name_every_value_and_group_every_operation(web: Web) -> None:
    document = (await web.http.get("/openapi.json")).json()
    enums = list(_enums(document))
    assert enums
    for values in enums:
        assert len({re.sub(r"\W", "_", value).upper() for value in values}) == len(values), values
    operations = [of for methods in document["paths"].values() for of in methods.values()]
    tags = {tag for of in operations for tag in of["tags"]}
    assert tags == {tag["name"] for tag in document["tags"]}
    assert {"topics", "acls", "history"} < tags
    assert len({of["operationId"] for of in operations}) == len(operations)


def _enums(schema: Any) -> Iterator[list[str]]:
    match schema:
        case {"enum": list(values)}:
            assert schema["type"] == "string"
            yield values
        case dict():
            for value in schema.values():
                yield from _enums(value)
        case list():
            for value in schema:
                yield from _enums(value)


async def test_method_that_a_path_does_not_take_is_answered_as_declared(web: Web) -> None:
    paths = (await web.http.get("/openapi.json")).json()["paths"]
    for path, methods in paths.items():
        if {"get", "post"} <= methods.keys():
            continue
        other = "post" if "get" in methods else "delete"
        answer = await web.http.request(other, path, json={})
        of = methods.get("get") or methods["post"]
        assert answer.status_code == 405, path
        declared = of["responses"]["405"]
        assert answer.headers["content-type"] in declared["content"]
        assert declared["headers"].keys() <= {name.title() for name in answer.headers}, path


async def test_head_is_described_where_it_is_answered(web: Web) -> None:
    paths = (await web.http.get("/openapi.json")).json()["paths"]
    for path, methods in paths.items():
        given = {
            p["name"]: p["example"]
            for p in methods.get("get", {}).get("parameters", [])
            if "example" in p
        }
        async with asyncio.timeout(30):
            answer = await web.http.head(path, params=given)
        assert ("head" in methods) == (answer.status_code != 405), path
        if "head" in methods:
            of = methods["head"]["responses"][str(answer.status_code)]
            assert "content" not in of, path


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != APPEND])
def test_every_command_has_an_example(command: str) -> None:
    request_from_json(COMMANDS[command].example, request_class(command))


async def test_examples_are_answered_as_declared(web: Web) -> None:
    paths = (await web.http.get("/openapi.json")).json()["paths"]
    for path, methods in paths.items():
        if path in ("/v1/events", "/v1/report/growth"):
            continue
        for method, of in methods.items():
            given = {p["name"]: p["example"] for p in of.get("parameters", []) if "example" in p}
            ((form, body),) = of.get("requestBody", {}).get("content", {"": {}}).items()
            content = body.get("example")
            if form == "application/json":
                response = await web.http.request(method, path, params=given, json=content)
            else:
                headers = {"Content-Type": form} if form else {}
                response = await web.http.request(
                    method, path, params=given, content=content, headers=headers
                )
            assert str(response.status_code) in of["responses"], response.text
            _check_vocabulary(response, method, path)
            is_told = response.status_code != 200 and method != "head"
            problem = response.json() if is_told else {}
            assert problem.get("code") not in ("INVALID_REQUEST", "INVALID_RECORD"), response.text


def _check_vocabulary(response: httpx.Response, method: str, path: str) -> None:
    if method == "head" or "json" not in response.headers["content-type"]:
        return
    if "ndjson" in response.headers["content-type"]:
        check_vocabulary([json.loads(line) for line in response.text.splitlines()], path)
        return
    if path == "/openapi.json":
        return
    answer = response.json()
    if response.status_code == 200 and method == "post" and "records" not in answer:
        assert all("error" in item for item in answer["results"]), path
    for item in answer.get("results", []) if response.status_code != 200 else []:
        assert item.pop("refusal")["code"] == item["error"]["code"]  # of earlier releases
    answer.pop("response", None)  # of earlier releases
    check_vocabulary(answer, path)


async def test_codes_are_described_by_name_and_as_numbers(web: Web) -> None:
    document = (await web.http.get("/openapi.json")).json()
    schemas = document["components"]["schemas"]
    names = [name.upper().replace("-", "_") for name in RESOURCE_TYPES]
    of_configs = schemas["ResourceChange"]["properties"]["resource_type"]
    assert of_configs == {"anyOf": [{"type": "string", "enum": names}, {"type": "integer"}]}
    assert {each.name: each.value for each in ConfigResourceType} == dict(
        zip(names, RESOURCE_TYPES.values(), strict=True)
    )
    of_acls = schemas["AclBinding"]["properties"]["operation"]
    assert "READ" in of_acls["anyOf"][0]["enum"]
    body = document["paths"]["/v1/acls/create"]["post"]["requestBody"]["content"]
    assert body["application/json"]["example"]["acls"][0]["operation"] == "READ"


async def test_the_page_names_every_operation_and_no_other_host(web: Web) -> None:
    page = (await web.http.get("/v1")).text
    for name in (*COMMANDS, *QUESTIONS):
        assert f" {path_of(name)}</code>" in page
    assert not re.findall(r"https?://|src=|<script", page)
