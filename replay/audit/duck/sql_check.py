"""Checks the caller's SQL: one SELECT that reads the views."""

from collections.abc import Iterator
from typing import Any

import msgspec

from records.errors import RequestError
from replay.audit.view_names import VIEWS


def views_named(connection: Any, text: str) -> set[str]:
    """Return the views that a query refers to.

    Args:
        connection: A connection of DuckDB, which parses the text without running it.

    Raises:
        RequestError: INVALID_REQUEST: the text is not one SELECT, or reads something else.
    """
    row = connection.execute("SELECT json_serialize_sql(?)", [text]).fetchone()
    parsed = msgspec.json.decode(row[0])
    if parsed["error"]:
        raise RequestError("INVALID_REQUEST", parsed["error_message"])
    if len(parsed["statements"]) != 1:
        raise RequestError("INVALID_REQUEST", "the query must be one SELECT")
    tables, defined = set(), set()
    for node in _nodes(parsed):
        if node.get("type") == "BASE_TABLE":
            tables.add(node["table_name"].lower())
        if "cte_map" in node:
            defined |= {each["key"].lower() for each in node["cte_map"]["map"]}
    unknown = tables - defined - VIEWS
    if unknown:
        raise RequestError(
            "INVALID_REQUEST",
            f"there is no view {min(unknown)}; SHOW TABLES lists the views",
        )
    return tables & VIEWS


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = value.values()
    elif not isinstance(value, list):
        return
    for each in value:
        yield from _nodes(each)
