"""Random requests of any type, so that every command of the table is covered automatically."""

import enum
import types
import typing
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec

from api.requests.commands import find_command
from api.requests.transactions import Step
from controller.decisions.configs.changes import Operation
from controller.decisions.topics.alterations import UNSET
from records.base import ZERO_UUID, Uuid
from records.text import uuid_text
from replay.image.configs import NAMESPACE, TOPIC
from tests.api.isolation.worlds import Tenant
from tests.replay.builders import uid


class Asker:
    """Makes requests with names that one of the tenants uses, or that neither uses."""

    def __init__(self, asking: Tenant, other: Tenant, rng: Random) -> None:
        self._rng = rng
        self._texts = [text for tenant in (asking, other, other) for text in _texts(tenant)]
        self._ids = [
            *[tenant.topic_id("orders") for tenant in (asking, other, other)],
            other.topic_id("t7"),  # deleted
            ZERO_UUID,
            uid("nobody's"),
        ]

    def request(self, as_type: Any, field: str = "") -> Any:
        """Return a value of a type."""
        if typing.get_origin(as_type) is typing.Annotated:
            as_type = as_type.__origin__
        if as_type is Uuid:
            return self._rng.choice(self._ids)
        as_type = getattr(as_type, "__supertype__", as_type)
        origin, arguments = typing.get_origin(as_type), typing.get_args(as_type)
        if origin in (typing.Union, types.UnionType):
            return self.request(self._rng.choice(arguments), field)
        if origin is tuple:
            return self._items(arguments, field)
        if as_type in (None, type(None)):
            return None
        if as_type is Step:
            command = find_command(self._rng.choice(_STEPS))
            return Step.of(command.name, self.request(command.request))
        if issubclass(as_type, msgspec.Struct):
            return self._struct(as_type)
        if issubclass(as_type, enum.Enum):
            return self._rng.choice(list(as_type))
        return self._scalar(as_type, field)

    def _items(self, arguments: Sequence[Any], field: str) -> tuple[Any, ...]:
        if len(arguments) == 2 and arguments[1] is ...:
            return tuple(
                [self.request(arguments[0], field) for _ in range(self._rng.choice((1, 2)))]
            )
        return tuple([self.request(each, field) for each in arguments])

    def _struct(self, as_type: type[msgspec.Struct]) -> Any:
        """Return a structure; most optional fields keep their defaults."""
        hints = typing.get_type_hints(as_type, include_extras=True)
        given = {
            field.name: self._field(as_type, field.name, hints[field.name])
            for field in msgspec.structs.fields(as_type)
            if field.required or self._rng.random() < 0.3
        }
        return as_type(**given)

    def _field(self, of_type: type[msgspec.Struct], name: str, as_type: Any) -> Any:
        likely = _LIKELY.get(f"{of_type.__name__}.{name}")
        if likely is not None and self._rng.random() < 0.8:
            return self._rng.choice(likely)
        return self.request(as_type, name)

    def _scalar(self, as_type: type, field: str) -> Any:
        if as_type is str:
            return self._text(field)
        if as_type is int:
            return self._rng.choice(_NUMBERS.get(field, (0, 0, 1, 1, 2, 3, -1, 100)))
        if as_type is bool:
            return self._rng.random() < 0.3
        if as_type is float:
            return 1.0
        assert as_type is bytes, as_type
        return b""

    def _text(self, field: str) -> str:
        if field in ("before", "first", "since", "last"):
            return self._rng.choice(("start", "end", "0", "3"))
        if field == "object":
            return self._rng.choice([text for text in self._texts if text.startswith(_KINDS)])
        if field == "pattern":
            return self._rng.choice((".*", "orders", "bravo.*", "alpha.*"))
        return self._rng.choice(self._texts)


_STEPS = ("topics create", "topics delete", "configs alter", "partitions create", "topics list")
_NUMBERS = {
    "partitions": (1, 2, 5),
    "replication_factor": (1, -1, 2),
    "broker_ids": (1,),
    "partition_id": (0, 1, 2, 7),
    "resource_type": (2, 2, 100, 100, 4, 32),
}
"""By field: what is mostly possible, so that more than the first check is met."""
_LIKELY: dict[str, tuple[Any, ...]] = {
    "NewTopic.name": ("made", "orders", "t7", "wide"),
    "NewTopic.namespace": ("alpha", "bravo", "alpha:inner", ""),
    "NewTopic.assignments": ((),),
    "NewTopic.topic_id": (None,),
    "NewTopic.configs": ((), (("retention.ms", "1000"),)),
    "CreateTopics.placement": (None,),
    "CreatePartitions.placement": (None,),
    "TopicGrowth.assignments": (None,),
    "ConfigChange.name": ("retention.ms", "cleanup.policy"),
    "ConfigChange.value": ("1000", "compact"),
    "ConfigChange.operation": (Operation.SET, Operation.DELETE),
    "ResourceChange.resource_type": (TOPIC, NAMESPACE),
    "TopicAlteration.assignments": ((),),
    "TopicAlteration.replication_factor": (UNSET,),
    "MoveTopics.topic": (None, "orders", "plans", "made"),
    **dict.fromkeys(
        ("MoveTopics.from_namespace", "MoveTopics.to_namespace"),
        ("alpha", "bravo", "alpha:inner", "bravo:inner"),
    ),
}
"""The same by structure and field."""

_KINDS = ("topic:", "partition:", "config:", "namespace:", "acl:", "quota:", "scram:", "broker:")


def _texts(tenant: Tenant) -> list[str]:
    name, topic_id = tenant.name, uuid_text(tenant.topic_id("orders"))
    topics = [f"{name}:orders", f"{name}:inner:plans", f"{name}:t7", f"{name}:new"]
    return [
        *(name, f"{name}:inner", f"{name}:fresh", f"{name}-group", tenant.user, tenant.principal),
        *topics,
        *topics,
        *("orders", "new", "", "1", "retention.ms", "*"),
        *(f"topic:{name}:orders", f"topic:@{topic_id}", f"partition:{name}:orders/0"),
        *(f"partition:@{topic_id}/0", f"config:topic/{name}:orders", f"namespace:{name}"),
        *(f"config:namespace/{name}", f"config:group/{name}-group", f"quota:user={tenant.user}"),
        *(f"acl:{uuid_text(uid(f'{name} ResourceType.NAMESPACE'))}", f"scram:{tenant.user}/1"),
        "broker:1",
    ]
