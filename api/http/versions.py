"""Versions of objects as entity tags such as `"topic:orders=17"`, for ETag and If-Match."""

from typing import Any
from urllib.parse import quote, unquote

from api.documents.configs import ConfigsDescribed
from api.documents.topics import OnePartition, TopicsDescribed
from controller.decisions.versions import ExpectedVersion, parse_version, version_text
from records.errors import RequestError

_SAFE = "/:@#%!$&'()*+;<>?[]^_`{|}~.-"


def etag_of(document: Any) -> str | None:
    """Return the entity tag of a document that describes one versioned object, else None."""
    match document:
        case TopicsDescribed(topics=(topic,)):
            return _tag(f"topic:{topic.name}", topic.version)
        case OnePartition(partition=partition):
            return _tag(f"partition:{partition.topic}/{partition.partition}", partition.version)
        case ConfigsDescribed(resource=resource, version=version) if "@" not in resource:
            return _tag(f"config:{resource}", version)
    return None


def _tag(name: str, version: int | None) -> str:
    return f'"{quote(name, safe=_SAFE)}={version_text(version)}"'


def expected_versions(if_match: str) -> tuple[ExpectedVersion, ...]:
    """Return the expected versions in a header `If-Match`.

    Raises:
        RequestError: INVALID_REQUEST, the header is not a list of entity tags as from `etag_of`.
    """
    return tuple([_expected(tag.strip()) for tag in if_match.split(",")])


def _expected(tag: str) -> ExpectedVersion:
    name, equals, version = tag.removeprefix('"').removesuffix('"').rpartition("=")
    try:
        if not (equals and name and tag[:1] == tag[-1:] == '"'):
            raise ValueError
        return ExpectedVersion(unquote(name), parse_version(version))
    except ValueError:
        raise RequestError(
            "INVALID_REQUEST", f'If-Match: {tag} is not OBJECT=VERSION, such as "topic:orders=17"'
        ) from None
