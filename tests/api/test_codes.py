"""Types of resources, operations and other codes: one spelling in JSON, in and out."""

import enum
import typing
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from api.questions.table import QUESTIONS, find_question
from api.requests.commands import ALL_COMMANDS, COMMANDS
from api.requests.json_requests import (
    enum_of,
    is_code,
    json_value,
    request_class,
    request_from_json,
    typed_fields,
)
from tests.api.conftest import Metalog


def _fields(hint: Any, seen: set[Any]) -> Iterator[tuple[type, str, Any]]:
    """Yield the struct, name and type of every field inside a type."""
    if is_code(hint):
        return
    for of in typing.get_args(hint):
        yield from _fields(of, seen)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct) and hint not in seen:
        seen.add(hint)
        for field, inner in typed_fields(hint):
            yield hint, field.name, inner
            yield from _fields(inner, seen)


def _codes(hint: Any) -> set[type[enum.Enum]]:
    found = enum_of(hint) if is_code(hint) else None
    return {found} if found else {code for of in typing.get_args(hint) for code in _codes(of)}


REQUESTS = [request_class(name) for name in (*COMMANDS, *QUESTIONS)]
ANSWERS = [
    *[command.response for command in ALL_COMMANDS.values()],
    *[find_question(name).response for name in QUESTIONS],
]
TAKEN = {
    name: code
    for request in REQUESTS
    for _, name, hint in _fields(request, set())
    for code in _codes(hint)
}


def test_the_walk_finds_all_codes() -> None:
    assert {"resource_type", "operation", "pattern_type", "permission_type", "mechanism"} <= {
        *TAKEN
    }


def test_answers_name_what_requests_name() -> None:
    for answer in ANSWERS:
        for struct, name, hint in _fields(answer, set()):
            if name in TAKEN and int in (hint, *typing.get_args(hint)):
                assert is_code(hint) or _codes(hint), f"{struct.__name__}.{name} is a bare number"


@pytest.mark.parametrize("code", sorted(set(TAKEN.values()), key=str))
def test_every_spelling_is_taken_and_the_name_comes_back(code: type[enum.Enum]) -> None:
    one = msgspec.defstruct("One", [("code", typing.Annotated[int, code])], frozen=True)
    for member in code:
        name = member.name
        for given in (name, name.lower(), name.title(), name.replace("_", "-"), member.value):
            assert request_from_json({"code": given}, one) == one(member.value)
        assert json_value(one(member.value), one) == {"code": name}
    assert json_value(one(120), one) == {"code": 120}


@pytest.mark.parametrize("spelled", ["broker", "BROKER", "Broker"])
def test_resource_comes_back_as_it_went_in(metalog: Metalog, tmp_path: Any, spelled: str) -> None:
    log = tmp_path / "log"
    assert metalog("init", log).code == 0
    resource = f"{spelled}/1"
    changed = metalog("configs", "set", resource, "log.retention.ms=1", "--log", log, "--json")
    assert changed.json["results"][0]["resource"] == resource
