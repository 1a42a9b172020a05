"""The rules for changes of a schema, which keep all written records readable for ever.

They are stricter than Avro's own resolution: no field is ever retyped or reordered, so that the
columns of Spark's tables and the bytes of Kafka's encoding stay the same. docs/adding_a_record.md
explains each rule.
"""

from collections.abc import Iterator, Mapping
from typing import Any


def violations(released: Any, current: Any) -> list[str]:
    """Return the reasons why records of a released schema cannot be read with the current one.

    Both schemas include their documentation and Kafka's layout. Each text names the place and the
    rule.
    """
    return list(_Comparison(_named_types(released), _named_types(current)).types(released, current))


class _Comparison:
    def __init__(self, released: Mapping[str, Any], current: Mapping[str, Any]) -> None:
        self._released = released
        self._current = current

    def types(self, released: Any, current: Any, where: str = "") -> Iterator[str]:
        # A type is defined where it is met first, and only named afterwards.
        before, now = _definition(released, self._released), _definition(current, self._current)
        kinds = _kind(before), _kind(now)
        if kinds[0] != kinds[1]:
            yield f"{where}: type {kinds[0]} became {kinds[1]}; a field is never retyped"
        elif isinstance(before, list):
            yield from self._unions(before, now, where)
        elif isinstance(before, dict):
            if before.get("name") != now.get("name") or _namespace(before) != _namespace(now):
                yield f"{where}: {_name(before)} was renamed to {_name(now)}; a name is for ever"
            elif isinstance(released, dict):
                yield from self._definitions(before, now, where)

    def _definitions(self, released: Any, current: Any, where: str) -> Iterator[str]:
        match released["type"]:
            case "record":
                yield from self._records(released, current, f"{where}/{released['name']}")
            case "array":
                yield from self.types(released["items"], current["items"], f"{where}[]")
            case "fixed":
                if released["size"] != current["size"]:
                    yield (
                        f"{where}: {_name(released)} has {current['size']} bytes instead of "
                        f"{released['size']}; a fixed keeps its size"
                    )
            case "enum":
                yield from self._enums(released, current, where)

    def _records(self, released: Any, current: Any, where: str) -> Iterator[str]:
        yield from _kafka(released, current, where)
        before = {field["name"]: field for field in released["fields"]}
        now = {field["name"]: field for field in current["fields"]}
        for name, field in before.items():
            if name not in now:
                yield f"{where}.{name}: was removed; a field stays"
                continue
            yield from self._fields(field, now[name], f"{where}.{name}")
        kept = [name for name in now if name in before]
        if kept != [name for name in before if name in now]:
            yield f"{where}: fields changed places; their order is for ever"
        for name, field in now.items():
            if name not in before and "default" not in field:
                yield f"{where}.{name}: is new and has no default; old records lack it"

    def _fields(self, released: Any, current: Any, where: str) -> Iterator[str]:
        yield from self.types(released["type"], current["type"], where)
        yield from _kafka(released, current, where)
        # A default that is there speaks for the records that were written before the field was.
        if _default(released) != _default(current):
            yield (
                f"{where}: default {_default(released)} became {_default(current)}; records from "
                "before the field would change their meaning"
            )

    def _unions(self, released: list[Any], current: list[Any], where: str) -> Iterator[str]:
        if len(current) < len(released):
            yield f"{where}: a member of the union was removed; members stay"
        for index, (before, now) in enumerate(zip(released, current, strict=False)):
            if _member(before) != _member(now):
                yield (
                    f"{where}: member {index} of the union was {_member(before)} and is "
                    f"{_member(now)}; members are only added at the end"
                )
            else:
                yield from self.types(before, now, where)

    def _enums(self, released: Any, current: Any, where: str) -> Iterator[str]:
        count = len(released["symbols"])
        if current["symbols"][:count] != released["symbols"]:
            yield f"{where}: symbols of {_name(released)} changed; they are only added at the end"


def _kafka(released: Any, current: Any, where: str) -> Iterator[str]:
    """Check that Kafka's layout only grows: by newer versions."""
    before, now = released.get("kafka"), current.get("kafka")
    if before == now:
        return
    if before is None or now is None:
        yield f"{where}: Kafka's layout was added or removed; old records were encoded by it"
        return
    for name in before.keys() | now.keys():
        if name == "versions":
            if not _grows(before[name], now[name]):
                yield f"{where}: Kafka's versions {before[name]} became {now[name]}; they only grow"
        elif before.get(name) != now.get(name):
            yield (
                f"{where}: Kafka's {name} {before.get(name)} became {now.get(name)}; "
                "records of that layout were written"
            )


def _grows(released: str, current: str) -> bool:
    first, _, last = released.partition("-")
    now_first, _, now_last = current.partition("-")
    return first == now_first and int(last or 0) <= int(now_last or 0)


def _default(field: Any) -> Any:
    return repr(field["default"]) if "default" in field else "none"


def _definition(schema: Any, named: Mapping[str, Any]) -> Any:
    return named.get(schema, schema) if isinstance(schema, str) else schema


def _kind(schema: Any) -> str:
    if isinstance(schema, list):
        return "union"
    return str(schema["type"] if isinstance(schema, dict) else schema)


def _member(schema: Any) -> str:
    return _name(schema) if isinstance(schema, dict) and "name" in schema else _kind(schema)


def _namespace(schema: Any) -> str:
    return str(schema.get("namespace", ""))


def _name(schema: Any) -> str:
    namespace = _namespace(schema)
    return f"{namespace}.{schema['name']}" if namespace else str(schema["name"])


def _named_types(schema: Any) -> dict[str, Any]:
    """Return every named type that a schema defines, by its full name."""
    found: dict[str, Any] = {}
    match schema:
        case [*_]:
            for member in schema:
                found |= _named_types(member)
        case {"type": "array", "items": items}:
            found |= _named_types(items)
        case {"name": _}:
            found[_name(schema)] = schema
            for field in schema.get("fields", []):
                found |= _named_types(field["type"])
    return found
