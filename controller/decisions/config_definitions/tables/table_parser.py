"""Reads tables of config definitions.

A definition is two lines:

    NAME | TYPE | DEFAULT | VALUES | UPDATE | SERVER NAMES
        What it does. (SINCE)

VALUES are words, a range (`0..`, `-1..9`) or a pattern (`/[a-z]+/`); empty: any value of the type.
UPDATE is where a broker's config can be changed: `cluster`, `broker` or `file`. SERVER NAMES are
the broker configs that set it, in order of precedence; `*60` is the factor to the unit of NAME,
`*m` and `*h` convert minutes and hours to milliseconds. SINCE is Kafka's release, or `ours`; if
missing, Kafka 3.0 or older. Columns at the end may be left out.
"""

import re
from collections.abc import Mapping

from controller.decisions.config_definitions.definition import ConfigDefinition, ConfigType, Update

# A pattern may hold a | without spaces.
_SEPARATOR = re.compile(r"\s\|(?=\s|$)")
_SINCE = re.compile(r" \((\S+)\)$")
_RANGE = re.compile(r"(-?[0-9.]+?)?\.\.(-?[0-9.]+)?")
_OLDEST = "3.0"
_FACTORS = {"": 1, "m": 60_000, "h": 3_600_000}
_COLUMNS = 6


def parse_table(text: str) -> Mapping[str, ConfigDefinition]:
    """Return the definitions of a table by name, in the table's order."""
    lines = [line for line in text.splitlines() if line.strip()]
    pairs = zip(lines[::2], lines[1::2], strict=True)
    found = [_definition(columns, doc.strip()) for columns, doc in pairs]
    by_name = {definition.name: definition for definition in found}
    assert len(by_name) == len(found), "a config is defined twice"
    return by_name


def _definition(line: str, text: str) -> ConfigDefinition:
    columns = [column.strip() for column in _SEPARATOR.split(line)]
    columns += [""] * (_COLUMNS - len(columns))
    name, type_, default, values, update, server_names = columns
    since = _SINCE.search(text)
    minimum, maximum, allowed, form = _values(values)
    return ConfigDefinition(
        name=name,
        type=ConfigType(type_),
        default=default,
        server_names=tuple([_server_name(item) for item in server_names.split()]),
        minimum=minimum,
        maximum=maximum,
        allowed=allowed,
        form=form,
        update=Update(update) if update else Update.CLUSTER,
        doc=_SINCE.sub("", text),
        since=since[1] if since else _OLDEST,
    )


def _values(
    text: str,
) -> tuple[float | None, float | None, frozenset[str], re.Pattern[str] | None]:
    if text.startswith("/"):
        return None, None, frozenset(), re.compile(text[1:-1])
    if limits := _RANGE.fullmatch(text):
        low, high = [None if limit is None else float(limit) for limit in limits.groups()]
        return low, high, frozenset(), None
    return None, None, frozenset(text.split()), None


def _server_name(text: str) -> tuple[str, int]:
    name, _, unit = text.partition("*")
    return name, _FACTORS.get(unit) or int(unit)
