"""Audit query: configs compared with the caller's baseline."""

from typing import Any

import msgspec

from records.errors import RequestError
from replay.audit.fold.settings import RESOURCE_TYPES
from replay.audit.queries.query import Column, Query

_NOT_CONFIGS = ("object", "version")


class _Parts(msgspec.Struct, frozen=True):
    configs: list[dict[str, Any]]


class _Baseline(msgspec.Struct, frozen=True):
    parts: _Parts


def configs_by_resource(text: str) -> str:
    """Return the configs of a baseline: {"topic/orders": {"retention.ms": "1000"}}, as JSON.

    Args:
        text: The output of `metalog image LOG --part configs --json`, or at least its `parts`.

    Raises:
        RequestError: INVALID_REQUEST: the text has another form.
    """
    try:
        found = msgspec.json.decode(text, type=_Baseline)
        resources = {each["object"].removeprefix("config:"): each for each in found.parts.configs}
    except (msgspec.DecodeError, KeyError, AttributeError) as error:
        raise RequestError(
            "INVALID_REQUEST",
            "the baseline is not what `metalog image LOG --part configs --json` prints; its "
            f"parts.configs must be a list of objects, each with a field `object`: {error}",
        ) from error
    configs = {
        resource: {name: value for name, value in fields.items() if name not in _NOT_CONFIGS}
        for resource, fields in resources.items()
    }
    return msgspec.json.encode(configs).decode()


def _resource_type_text(code: str) -> str:
    """Return SQL that maps a config resource type to its name; an unknown code stays a number."""
    cases = " ".join(f"WHEN {number} THEN '{name}'" for number, name in RESOURCE_TYPES.items())
    return f"CASE {code} {cases} ELSE {code} || '' END"


BASELINE_DRIFT = Query(
    "baseline-drift",
    "configs that differ from a baseline: --set baseline=@FILE",
    f"""
    SELECT name, field, wanted.value AS baseline, found.value AS now
    FROM (SELECT name, field, value
          FROM (SELECT explode(from_json(:baseline, 'map<string, map<string, string>>'))
                       AS (name, fields))
               LATERAL VIEW explode(fields) each AS field, value) AS wanted
         FULL JOIN
         (SELECT concat({_resource_type_text("resource_type")}, '/', resource_name) AS name,
                 name AS field, value
          FROM configs) AS found
         USING (name, field)
    WHERE NOT wanted.value <=> found.value
    ORDER BY name, field
    """,
    {
        "name": Column("string", "the resource, such as topic/orders"),
        "field": Column("string", "the config's name"),
        "baseline": Column("string", "value in the baseline", null="it is not there"),
        "now": Column("string", "value at the end of the range", null="it is not set"),
    },
    reads=("configs",),
    duckdb=f"""
    SELECT name, field, wanted.value AS baseline, found.value AS now
    FROM (SELECT name, each.key AS field, each.value->>'$' AS value
          FROM (SELECT each.key AS name, each.value AS fields
                FROM json_each(CAST(:baseline AS json)) AS each),
               json_each(fields) AS each) AS wanted
         FULL JOIN
         (SELECT concat({_resource_type_text("resource_type")}, '/', resource_name) AS name,
                 name AS field, value
          FROM configs) AS found
         USING (name, field)
    WHERE wanted.value IS DISTINCT FROM found.value
    ORDER BY name, field
    """,
    parameters={"baseline": '{"parts": {"configs": []}}'},
    readers={"baseline": configs_by_resource},
)
