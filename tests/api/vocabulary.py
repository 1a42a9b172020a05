"""The words that all JSON answers share: errors and times, checked wherever they occur."""

import re
from collections.abc import Iterator
from typing import Any

ERROR = {"code", "message", "outcome", "done_to"}

INSTANTS = {
    *("timestamp", "time", "from_time", "to_time", "due", "due_ms"),
    *("as_of_timestamp", "as_of_timestamp_max", "latest_timestamp"),
    *("start_timestamp", "end_timestamp", "created_at"),
    *("issue_timestamp", "expiration_timestamp", "max_timestamp"),
}
"""Keys of points in time: milliseconds since 1970, or null."""

_ABOUT_TIME = re.compile(r"(.*_)?(time|timestamp|date|since|until|when)(_.*)?|.*_at|due.*")
_NO_INSTANTS = {"time_zone", "committed_at", "since"}
"""`since` is the release of Kafka that brought a config."""

_RECORDS = ("data", "origin", "asked", "changes", "before", "after")
"""Parts with the fields of records, which have Kafka's names."""


def check_vocabulary(answer: Any, where: str) -> None:
    """Check the keys of errors and of times in a JSON document, and their values."""
    for key, value, path in _keys(answer, where):
        if key == "error":
            assert value is None or value.keys() == ERROR, path
        elif key == "errors":
            assert all({"code", "message"} <= each.keys() for each in value), path
        assert key != "refusal", path
        if _ABOUT_TIME.fullmatch(key) and key not in _NO_INSTANTS:
            assert key in INSTANTS, f"{path}: a new name of a time"
            assert value is None or isinstance(value, int), path


def _keys(value: Any, path: str) -> Iterator[tuple[str, Any, str]]:
    if isinstance(value, list):
        for item in value:
            yield from _keys(item, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key, item, f"{path}.{key}"
            if key not in _RECORDS:
                yield from _keys(item, f"{path}.{key}")
