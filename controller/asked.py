"""What is written beside the records of a decision: the request, and all else that it depended on.

A decision that is bound to its request can be taken again from this, and the request that asked for
it gets its first answer from it. Secrets are never written: null stands in their place, with a
reference to the record that holds them.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, get_args, get_type_hints

import msgspec

from controller.decisions.configs import ConfigChange, Operation
from controller.decisions.context import Context, Settings
from controller.decisions.topics import NewTopic
from controller.packed import plain_of
from controller.placement.registry import name_of
from controller.raw_append import AppendRecords, AppendRows
from controller.result import ControllerResult
from metadata_log.request_window import takes_part
from records.base import Record
from records.configs import ConfigRecord
from records.envelope import Asked, Origin, SecretReference
from records.secrets import REDACTED, is_secret_config

T = TypeVar("T")

ASKED_BYTES_MAX = 64 * 1024
"""Of request, observed values and response together; larger ones are left out."""

VERSIONS: Mapping[str, int] = {}
"""Versions of commands' requests and responses that are not 1. A change that older bytes do not
decode to, such as another default of a field, needs a new one."""

ACTIVATE = "activate"


class BoundDecision(msgspec.Struct, Generic[T], frozen=True):
    """A decision and its request, under the name that the log keeps; call it with a context.

    `request` is UNSET for decisions that take none. `response` is the type of the response, where
    it is not that of `decide`'s annotation.
    """

    command: str
    decide: Callable[..., ControllerResult[T]]
    request: Any = msgspec.UNSET
    response: Any = msgspec.UNSET

    def __call__(self, context: Context) -> ControllerResult[T]:
        """Decide."""
        if self.request is msgspec.UNSET:
            return self.decide(context)
        return self.decide(context, self.request)

    @property
    def response_type(self) -> Any:
        """The type of the response."""
        return response_type(self.decide) if self.response is msgspec.UNSET else self.response


@functools.cache
def response_type(decide: Callable[..., ControllerResult[Any]]) -> Any:
    """Return the type of a decision's response."""
    (found,) = get_args(get_type_hints(decide)["return"])
    return found


def version_of(command: str) -> int:
    """Return the version of a command's request and response that this release writes."""
    return VERSIONS.get(command, 1)


def asked_of(
    decision: BoundDecision[Any],
    result: ControllerResult[Any],
    origin: Origin | None,
    *,
    seed: int | None,
    seen: Mapping[str, Any],
) -> Asked:
    """Return what stands beside the first record of a decision.

    Args:
        seed: What its random numbers came from; None when it drew none.
        seen: What else it read (`controller.observed`).
    """
    secrets = _Secrets(result.records)
    request = response = None
    if decision.request is not msgspec.UNSET:
        request = msgspec.msgpack.encode(secrets.hidden(_kept_request(decision), "request"))
    if takes_part(origin):
        response = msgspec.msgpack.encode(secrets.hidden(result.response, "response"))
    observed = msgspec.msgpack.encode(seen) if seen else None
    asked = Asked(
        command=decision.command,
        version=version_of(decision.command),
        request=request,
        seed=seed,
        observed=observed,
        response=response,
        secrets=tuple(secrets.references),
    )
    return _of_limited_size(asked)


def asked_settings(settings: Settings) -> Asked:
    """Return what a writer's first batch says of the settings that it decides with."""
    kept = {
        "node_id": settings.node_id,
        "default_partitions": settings.default_partitions,
        "default_replication_factor": settings.default_replication_factor,
        "session_timeout_ms": settings.session_timeout_ms,
        "transaction_timeout_ms": settings.transaction_timeout_ms,
        "placer": name_of(settings.placer),
        "has_topic_policy": settings.topic_policy is not None,
        "static_configs": {
            name: None if is_secret_config(name) else value
            for name, value in sorted(settings.static_configs.items())
        },
    }
    references = [
        SecretReference(path=f"request/static_configs/{name}")
        for name in sorted(settings.static_configs)
        if is_secret_config(name)
    ]
    return _of_limited_size(
        Asked(
            command=ACTIVATE,
            version=version_of(ACTIVATE),
            request=msgspec.msgpack.encode(kept),
            secrets=tuple(references),
        )
    )


def _of_limited_size(asked: Asked) -> Asked:
    """Leave the request out of what is too large, and the rest when that is not enough."""
    sizes = {name: len(getattr(asked, name) or b"") for name in ("request", "observed", "response")}
    total = sum(sizes.values()) + sum(len(reference.path) for reference in asked.secrets)
    if total <= ASKED_BYTES_MAX:
        return asked
    left = sizes["observed"] + sizes["response"]
    response = asked.response if left <= ASKED_BYTES_MAX else None
    observed = asked.observed if left <= ASKED_BYTES_MAX else None
    omitted = sizes["request"] + (left if response is None and observed is None else 0)
    secrets = [ref for ref in asked.secrets if response and ref.path.startswith("response")]
    return msgspec.structs.replace(
        asked,
        request=None,
        observed=observed,
        response=response,
        omitted_bytes=omitted,
        secrets=tuple(secrets),
    )


def _kept_request(decision: BoundDecision[Any]) -> Any:
    """Return a request without the records that it appends: they stand in the batch itself."""
    if isinstance(decision.request, AppendRecords):
        return msgspec.structs.replace(decision.request, records=())
    if isinstance(decision.request, AppendRows):
        return msgspec.structs.replace(decision.request, rows=b"", count=0, request_hash=None)
    return decision.request


class _Secrets:
    """Takes secrets out of a request and its response, and finds the records that hold them."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records
        self._values: set[str] = set()
        self.references: list[SecretReference] = []

    def hidden(self, value: Any, path: str) -> Any:
        """Return the plain form of a value with null in place of its secrets."""
        return plain_of(value, path, self._replacement)

    def _replacement(self, value: Any, path: str) -> Any:
        """Return what stands for a value that is a secret, or quotes one; else the value."""
        if isinstance(packed := getattr(value, "request", None), bytes):  # a transaction's step
            return [value.command, self._hidden_step(value.command, packed, f"{path}/1")]
        match value:
            case ConfigChange(name=name, value=str(secret)) if is_secret_config(name):
                self._refer(name, secret, f"{path}/1")
                # A list, in which the null at the end is not left out as the default.
                operation = value.operation
                return [name, None] if operation is Operation.SET else [name, None, operation]
            case NewTopic(configs=configs):
                return msgspec.structs.replace(value, configs=self._hidden_configs(configs, path))
            case str() if path.startswith("response") and self._values:
                # A refusal can quote the value that it refuses.
                for secret in filter(None, self._values):
                    value = value.replace(secret, REDACTED)
        return value

    def _hidden_step(self, command: str, packed: bytes, path: str) -> bytes:
        """Return the packed request of a transaction's step; paths go on inside it."""
        plain = msgspec.msgpack.decode(packed)
        if command == "records append":
            plain = {**plain, "rows": b"", "count": 0}  # they stand in the batch itself
        return msgspec.msgpack.encode(self._hidden_plain(plain, path))

    def _hidden_plain(self, plain: Any, path: str) -> Any:
        """Take secrets out of a request in the form of connections."""
        match plain:
            case {"name": str(name), "value": str(secret)} if is_secret_config(name):
                self._refer(name, secret, f"{path}/value")
                return {**plain, "value": None}
            case [str(name), str(secret)] if "/configs/" in path and is_secret_config(name):
                self._refer(name, secret, f"{path}/1")
                return [name, None]
            case dict():
                return {k: self._hidden_plain(item, f"{path}/{k}") for k, item in plain.items()}
            case list():
                return [self._hidden_plain(v, f"{path}/{i}") for i, v in enumerate(plain)]
        return plain

    def _hidden_configs(
        self, configs: tuple[tuple[str, str | None], ...], path: str
    ) -> tuple[tuple[str, str | None], ...]:
        place = NewTopic.__struct_fields__.index("configs")
        kept = []
        for index, (name, value) in enumerate(configs):
            if value is not None and is_secret_config(name):
                self._refer(name, value, f"{path}/{place}/{index}/1")
                value = None
            kept.append((name, value))
        return tuple(kept)

    def _refer(self, name: str, secret: str, path: str) -> None:
        self._values.add(secret)
        index = next(
            (
                index
                for index, record in enumerate(self._records)
                if isinstance(record, ConfigRecord)
                and (record.name, record.value) == (name, secret)
            ),
            None,
        )
        field = None if index is None else "value"
        self.references.append(SecretReference(path=path, record_index=index, field=field))
