"""Calls operations by a client of openapi-python-client; prints the type of each answer.

Runs with the generators' Python; its arguments are a folder with the client, the URL of a service,
and a file with the calls.
"""

import importlib
import inspect
import json
import sys
from typing import Any

folder, url, calls = sys.argv[1:]
sys.path.insert(0, folder)
client = importlib.import_module("made.client").Client(base_url=url)
models = importlib.import_module("made.models")


def _outcome(call: dict[str, Any]) -> str:
    try:
        return _answer(call)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _answer(call: dict[str, Any]) -> str:
    module = importlib.import_module(f"made.api.{call['tag'].replace('-', '_')}.{call['name']}")
    # A name that Python uses itself has an underscore behind it.
    names = {name.rstrip("_"): name for name in inspect.signature(module.sync_detailed).parameters}
    arguments = {names[name]: value for name, value in call["parameters"].items()}
    if call["model"] is not None:
        arguments["body"] = getattr(models, call["model"]).from_dict(call["body"])
    answer = module.sync_detailed(client=client, **arguments)
    return f"{answer.status_code.value} {type(answer.parsed).__name__}"


with open(calls, encoding="utf-8") as file:
    print(json.dumps({call["name"]: _outcome(call) for call in json.load(file)}))
