"""Runs tests that use topics of the default namespace in another namespace.

The namespace is added to topic names in requests and removed from those in responses, so a test
sees the same as in the default namespace.
"""

from typing import Any

import msgspec
from msgspec.structs import replace

from controller.decisions.configs.changes import ResourceChange
from controller.decisions.names import full_name, tiers
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.decisions.partitions.elections import ElectLeaders
from controller.decisions.topics.topics import NewTopic
from replay.image.configs import TOPIC
from replay.image.metadata import MetadataImage
from tests.replay.builders import image_of, namespace

# Fields of requests that name topics, alone or several.
_NAMES = frozenset({"topic", "topics"})


def image_with(name: str) -> MetadataImage:
    """Return an image with a namespace that was created by no record of the log."""
    image = image_of(*map(namespace, tiers(name)))
    return replace(image, provenance=MetadataImage.EMPTY.provenance)


def inside(request: Any, namespace: str) -> Any:
    """Return a request with the namespace added to its topic names."""
    match request:
        case str():  # a command that takes nothing but a topic
            return full_name(namespace, request)
        case NewTopic():
            within = full_name(namespace, request.namespace) if request.namespace else namespace
            return replace(request, namespace=within)
        case CreateNamespace():
            return replace(request, name=full_name(namespace, request.name))
        case ResourceChange(resource_type=type_, resource_name=str(name)) if type_ == TOPIC:
            return replace(request, resource_name=full_name(namespace, name))
        case ElectLeaders():
            named = [(inside(topic, namespace), n) for topic, n in request.partitions]
            return replace(request, partitions=tuple(named))
        case msgspec.Struct():
            fields = {
                name: _inside_field(name, value, namespace)
                for name, value in msgspec.structs.asdict(request).items()
            }
            return replace(request, **fields)
    return request


def _inside_field(name: str, value: Any, namespace: str) -> Any:
    if isinstance(value, tuple):
        return tuple([_inside_field(name, item, namespace) for item in value])
    if isinstance(value, msgspec.Struct) or name in _NAMES:
        return inside(value, namespace)
    return value


def outside(response: Any, namespace: str) -> Any:
    """Return a response or text with the namespace removed."""
    match response:
        case str():
            return response.replace(f"{namespace}:", "")
        case msgspec.Struct():
            fields = msgspec.structs.asdict(response)
            return replace(response, **{n: outside(v, namespace) for n, v in fields.items()})
        case tuple() | list():
            return type(response)([outside(item, namespace) for item in response])
        case dict():
            return {outside(k, namespace): outside(v, namespace) for k, v in response.items()}
    return response
