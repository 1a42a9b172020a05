"""Records whose correct bytes are known."""

import re
from typing import Any

import pytest

from records.json import from_json
from records.kafka.codec import decode_control, decode_value, encode_control, encode_value
from records.text import bytes_text
from tests.real_logs import binary_vectors, needs_reference

pytestmark = needs_reference


def _ids(vectors: list[dict[str, Any]], name: str) -> list[str]:
    return [f"{vector[name]}-{vector['version']}-{n}" for n, vector in enumerate(vectors)]


_VALUES = binary_vectors().get("record_values", [])
_CONTROLS = binary_vectors().get("control_records", [])


def _snake_case(value: Any) -> Any:
    if isinstance(value, dict):
        return {_snake_name(key): _snake_case(item) for key, item in value.items()}
    return [_snake_case(item) for item in value] if isinstance(value, list) else value


def _snake_name(name: str) -> str:
    name = name.replace("KRaft", "Kraft")
    return re.sub("(?<!^)[A-Z]", lambda match: f"_{match[0]}", name).lower()


@pytest.mark.parametrize("vector", _VALUES, ids=_ids(_VALUES, "record"))
def test_metadata_record_has_its_known_bytes(vector: dict[str, Any]) -> None:
    value = bytes.fromhex(vector["value_hex"])
    fields = _snake_case(vector["fields_given"])
    for name in fields.keys() & {"salt", "stored_key", "server_key"}:
        fields[name] = bytes_text(bytes.fromhex(fields[name]))
    given = from_json(vector["record"], fields)
    decoded = decode_value(value)
    assert decoded.record == given
    assert decoded.version == vector["version"]
    assert (decoded.canonical, decoded.unknown_tags) == (True, ())
    assert encode_value(given, vector["version"]) == value


@pytest.mark.parametrize("vector", _CONTROLS, ids=_ids(_CONTROLS, "name"))
def test_control_record_has_its_known_bytes(vector: dict[str, Any]) -> None:
    key, value = bytes.fromhex(vector["key_hex"]), bytes.fromhex(vector["value_hex"])
    given = from_json(vector["name"], _snake_case(vector["fields"]))
    decoded = decode_control(key, value)
    assert decoded.record == given
    assert decoded.version == vector["version"]
    assert (decoded.canonical, decoded.unknown_tags) == (True, ())
    assert encode_control(given) == (key, value)
