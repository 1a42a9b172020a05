"""Finds the topics that a request names by id, and replaces the ids by names.

A caller whose rights are limited to names may see a topic only while it has a permitted name. So an
id in the request is replaced by the topic's name at the point of the question.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import fields, replace

from records.base import Uuid
from records.text import parse_uuid
from replay.time_travel.labels import escaped

_BY_ID = re.compile(r"((?:topic|partition|removal|deletion):|config:\w+/)@([^/#]+)(.*)", re.DOTALL)


def topic_ids(request: Any) -> frozenset[Uuid]:
    """Return the ids of topics in a request: topics, resources, and objects such as `topic:@ID`."""
    return frozenset(_ids(request))


def _ids(request: Any) -> Iterator[Uuid]:
    if not isinstance(request, msgspec.Struct):
        return
    for field in fields(request):
        value = getattr(request, field.name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, bytes):
                yield Uuid(each)
    found = _object_id(request)
    if found is not None:
        yield found


def _object_id(request: Any) -> Uuid | None:
    found = _BY_ID.fullmatch(getattr(request, "object", None) or "")
    try:
        return None if found is None else parse_uuid(found[2])
    except ValueError:
        return None


def with_names(request: Any, names: Mapping[Uuid, str]) -> Any:
    """Return a request with its object's topic id replaced by the name, if the name is known."""
    topic_id = _object_id(request)
    name = None if topic_id is None else names.get(topic_id)
    if name is None:
        return request
    found = _BY_ID.fullmatch(request.object)
    assert found is not None, "it contains the id"
    return replace(request, object=f"{found[1]}{escaped(name)}{found[3]}")
