"""Our message layouts against those in kafka-python, version by version."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.fields import Message
from api.kafka.layouts import message_layout
from records.kafka.layout import ArrayOf, FieldType, Layout
from tests.docs_console import ROOT

# Where ours is another layout on purpose, or the client has none.
_OURS = (
    apis.LEADER_AND_ISR,
    apis.STOP_REPLICA,
    apis.UPDATE_METADATA,
    apis.ALTER_PARTITION,
    apis.ENVELOPE,
    apis.FETCH_SNAPSHOT,
    apis.BROKER_REGISTRATION,
    apis.BROKER_HEARTBEAT,
    apis.ASSIGN_REPLICAS_TO_DIRS,
    apis.ALLOCATE_PRODUCER_IDS,
    apis.DELETE_PARTITIONS,
    apis.FOLLOW_LOG,
    apis.RUN_COMMAND,
    apis.CREATE_DELEGATION_TOKEN,
    apis.RENEW_DELEGATION_TOKEN,
    apis.EXPIRE_DELEGATION_TOKEN,
    apis.DESCRIBE_DELEGATION_TOKEN,
    apis.UNREGISTER_BROKER,
    apis.CONSUMER_GROUP_HEARTBEAT,
    apis.CONSUMER_GROUP_DESCRIBE,
)
_SHARED = [api for api in apis.ALL if api not in _OURS]
_PRIVATE_TAG_MIN = 100


def _messages() -> list[Any]:
    return [
        pytest.param(api, cls, version, id=f"{cls.__name__}-{version}")
        for api in _SHARED
        for cls in (api.request, api.response)
        for version in range(api.min_version, api.max_version + 1)
    ]


@pytest.mark.parametrize(("api", "cls", "version"), _messages())
def test_layout_is_that_of_the_client(api: Api, cls: type[Message], version: int) -> None:
    theirs = _their_schema(cls.__name__)
    of = message_layout(cls, version, flexible=api.is_flexible(version))
    assert of.flexible == _has(theirs["flexibleVersions"], version)
    assert _shape(of) == _their_shape(theirs, version, _structs(theirs))


@pytest.mark.parametrize("api", _SHARED, ids=lambda api: api.name)
def test_tagged_fields_that_the_client_knows_have_its_tags(api: Api) -> None:
    for cls in (api.request, api.response):
        theirs = _their_schema(cls.__name__)
        of = message_layout(cls, api.max_version, flexible=api.is_flexible(api.max_version))
        ours = {f.tag for f in of.tagged if f.tag is not None and f.tag < _PRIVATE_TAG_MIN}
        known = {f["tag"] for f in theirs["fields"] if "tag" in f}
        assert ours <= known


def test_private_keys_and_tags_are_out_of_kafkas_reach() -> None:
    assert min(apis.DELETE_PARTITIONS_KEY, apis.FOLLOW_LOG_KEY, apis.RUN_COMMAND_KEY) > 10_000
    tags = [
        f.tag
        for api in apis.ALL
        for cls in (api.request, api.response)
        for f in _all_tagged(message_layout(cls, api.max_version, flexible=True))
    ]
    assert {tag for tag in tags if tag is not None and 3 < tag < _PRIVATE_TAG_MIN} == set()


def _all_tagged(of: Layout) -> list[Any]:
    nested = [_nested(f.type) for f in (*of.fields, *of.tagged)]
    return [*of.tagged, *(f for one in nested if one for f in _all_tagged(one))]


def _nested(field_type: FieldType) -> Layout | None:
    while isinstance(field_type, ArrayOf):
        field_type = field_type.item
    return field_type if isinstance(field_type, Layout) else None


def _shape(of: Layout) -> list[Any]:
    """Return the fields that are always written, as (type, nullable)."""
    return [(_type(field.type), field.nullable) for field in of.fields]


def _type(field_type: FieldType) -> Any:
    match field_type:
        case ArrayOf(item):
            return [_type(item)]
        case Layout():
            return _shape(field_type)
    return field_type


def _their_schema(name: str) -> Any:
    # Not imported: what is wanted is its tables alone.
    spec = importlib.util.find_spec("kafka")
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent / "protocol" / "schemas" / "resources"
    text = (folder / f"{name}.json").read_text()
    return json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))


def _structs(schema: Any) -> dict[str, Any]:
    return {struct["name"]: struct for struct in schema.get("commonStructs", [])}


def _their_shape(struct: Any, version: int, structs: dict[str, Any]) -> list[Any]:
    shape = []
    for field in struct["fields"]:
        if not _has(field["versions"], version) or "tag" in field:
            continue
        shape.append((_their_type(field, version, structs), _is_nullable(field)))
    return shape


def _their_type(field: Any, version: int, structs: dict[str, Any]) -> Any:
    name = field["type"]
    is_array = name.startswith("[]")
    name = name.removeprefix("[]")
    item: Any = "bytes" if name == "records" else name
    if "fields" in field:
        item = _their_shape(field, version, structs)
    elif name in structs:
        item = _their_shape(structs[name], version, structs)
    return [item] if is_array else item


def _is_nullable(field: Any) -> bool:
    """True if some version of the field is nullable: our layouts accept null in all versions
    then.
    """
    return "nullableVersions" in field and field["nullableVersions"] != "none"


def _has(versions: str, version: int) -> bool:
    if versions == "none":
        return False
    first, _, last = versions.partition("-")
    if versions.endswith("+"):
        return version >= int(versions[:-1])
    return int(first) <= version <= int(last or first)


def test_documented_requests_and_versions_are_those_that_are_taken() -> None:
    text = (ROOT / "docs" / "broker.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (\w+) \| (\d+)(?: to (\d+))? \|", text, re.MULTILINE)
    documented = {(int(key), name, int(low), int(high or low)) for key, name, low, high in rows}
    assert documented == {(a.key, a.name, a.min_version, a.max_version) for a in apis.ALL}


def test_documented_tags_are_those_that_are_used() -> None:
    text = (ROOT / "docs" / "broker.md").read_text()
    documented = {int(tag) for tag in re.findall(r"^\| (1\d\d) \| ", text, re.MULTILINE)}
    used = {
        field.tag
        for api in apis.ALL
        for cls in (api.request, api.response)
        for field in _all_tagged(message_layout(cls, api.max_version, flexible=True))
        if field.tag is not None and field.tag >= _PRIVATE_TAG_MIN
    }
    assert used == documented
