"""Calls operations by a client of openapi-generator; prints the type of each answer.

Runs with the generators' Python; its arguments are a folder with the client, the URL of a service,
and a file with the calls.
"""

import importlib
import json
import sys
from typing import Any

folder, url, calls = sys.argv[1:]
sys.path.insert(0, folder)
made = importlib.import_module("made")
client = made.ApiClient(made.Configuration(host=url))


def _outcome(call: dict[str, Any]) -> str:
    try:
        return _answer(call)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _answer(call: dict[str, Any]) -> str:
    name = "".join(word.capitalize() for word in call["tag"].split("-"))
    operation = getattr(getattr(made, f"{name}Api")(client), call["name"])
    arguments = {f"var_{n}" if n in ("as", "from") else n: v for n, v in call["parameters"].items()}
    if call["model"] is not None:
        arguments["body"] = getattr(made, call["model"]).from_dict(call["body"])
    body = arguments.pop("body", None)
    try:
        answer = operation(*([] if body is None else [body]), **arguments)
    except made.ApiException as error:
        return f"{error.status} {type(error.data).__name__}"
    return f"200 {type(answer).__name__}"


with open(calls, encoding="utf-8") as file:
    print(json.dumps({call["name"]: _outcome(call) for call in json.load(file)}))
