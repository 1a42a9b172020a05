"""The inputs of a decision that are logged with its records: request, random seed, and others.

From these inputs, a decision can be made again to verify its records, and a repeated request is
given the response to the first one. Secrets are never written: each is null, with a reference to
the record that contains the secret.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, get_args, get_type_hints

import msgspec
from msgspec.structs import replace

from controller.asked.kept_answers import encode_answer
from controller.asked.kept_secrets import HiddenSecrets, hash_of_hmac, restored
from controller.decisions.config_definitions.brokers import (
    DEFAULT_REPLICATION_FACTOR,
    NUM_PARTITIONS,
)
from controller.decisions.context.context import Context, Settings
from controller.decisions.topics.topics import TopicResult
from controller.placement.registry import name_of, placer_named
from controller.raw_appends.raw_append import AppendRecords, AppendRows
from controller.results.changed_versions import ObjectVersion
from controller.results.result import ControllerResult
from controller.results.turns import Turns
from controller.wire import from_log, plain_of
from metadata_log.writer.request_window import is_repeatable
from records.base import Record
from records.envelope import Asked, Origin, SecretReference
from records.errors import RequestError
from records.secrets import REDACTED, is_secret_config

T = TypeVar("T")

ASKED_BYTES_MAX = 64 * 1024
"""Maximum bytes of a decision's request, observed values and response that are logged."""

VERSIONS: Mapping[str, int] = {}
"""Versions of commands' requests and responses, if not 1. A change needs a new version if logged
bytes would be decoded differently after it, such as another default of a field."""

ACTIVATE = "activate"

APPEND = "records append"


class BoundDecision(msgspec.Struct, Generic[T], frozen=True):
    """A decision and its request, with the command name used in the log; call it with a context.

    `request` is UNSET for a decision that has no request. `response` is the response's type; only
    needed if the return annotation of `decide` does not give it. `tells_versions`: the answer
    includes the versions of the changed objects. `in_turns` decides the same as `decide`, in
    several turns of the event loop; None: it takes one.
    """

    command: str
    decide: Callable[..., ControllerResult[T]]
    request: Any = msgspec.UNSET
    response: Any = msgspec.UNSET
    tells_versions: bool = False
    in_turns: Callable[..., Turns[ControllerResult[T]]] | None = None

    def __call__(self, context: Context) -> ControllerResult[T]:
        """Decide in a context."""
        if self.request is msgspec.UNSET:
            return self.decide(context)
        return self.decide(context, self.request)

    def turns(self, context: Context) -> Turns[ControllerResult[T]]:
        """Decide in a context, in several turns if the decision takes them."""
        if self.in_turns is None:
            return self(context)
        return (yield from self.in_turns(context, self.request))

    @property
    def response_type(self) -> Any:
        """The type of the response."""
        return response_type(self.decide) if self.response is msgspec.UNSET else self.response


@functools.cache
def response_type(decide: Callable[..., ControllerResult[Any]]) -> Any:
    """Return the type of a decision's response, from the annotation of its function."""
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
    versions: Sequence[ObjectVersion] | None = None,
) -> Asked:
    """Return the inputs and the response to log with the first record of a decision.

    Args:
        seed: Seed of the random numbers that the decision used; None if it used none.
        seen: Other values that the decision read, by name (see `controller.asked.observed`).
        versions: Versions of the objects that the decision changed, logged with the response; None
            if they are not known.
    """
    secrets = HiddenSecrets(result.records)
    request = response = None
    if isinstance(decision.request, AppendRecords | AppendRows):
        request = _conditions(decision.request)
    elif decision.request is not msgspec.UNSET:
        request = msgspec.msgpack.encode(secrets.hidden(decision.request, "request"))
    observed = None
    hashes = hash_of_hmac(result.response) if is_repeatable(origin) else {}
    if seen or hashes:
        # A policy's refusal can quote the value that it refuses.
        kept = {name: secrets.without_quotes(value) for name, value in seen.items()} | hashes
        observed = msgspec.msgpack.encode(kept)
    if is_repeatable(origin):
        plain = secrets.hidden(_without_configs(result.response), "response")
        response = encode_answer(plain, versions if decision.tells_versions else None)
        if len(response) + len(observed or b"") > ASKED_BYTES_MAX:
            response = encode_answer(plain, None)
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


def _without_configs(response: Any) -> Any:
    """Leave out the configs of created topics: 1 KB each, and clients can ask for them."""
    if not isinstance(response, list | tuple) or TopicResult not in map(type, response):
        return response
    return tuple([replace(each, configs=each.configs and ()) for each in response])


def asked_append(request: AppendRecords) -> Asked:
    """Return the inputs to log with a raw append that has no request id."""
    conditions = _conditions(request)
    if conditions is _UNCONDITIONAL:
        return _UNCONDITIONAL_APPEND
    return _of_limited_size(replace(_UNCONDITIONAL_APPEND, request=conditions))


def logged_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings that decisions depend on, by name; secrets are None."""
    return {
        "node_id": settings.node_id,
        "default_partitions": settings.static_number(NUM_PARTITIONS),
        "default_replication_factor": settings.static_number(DEFAULT_REPLICATION_FACTOR),
        "session_timeout_ms": settings.session_timeout_ms,
        "transaction_timeout_ms": settings.transaction_timeout_ms,
        "placer": name_of(settings.placer),
        "has_topic_policy": settings.topic_policy is not None,
        "static_configs": {
            name: None if is_secret_config(name) else value
            for name, value in sorted(settings.static_configs.items())
        },
    }


def asked_settings(settings: Settings) -> Asked:
    """Return the controller's settings, as logged with the first batch of a writer."""
    references = [
        SecretReference(path=f"request/static_configs/{name}")
        for name in sorted(settings.static_configs)
        if is_secret_config(name)
    ]
    return _of_limited_size(
        Asked(
            command=ACTIVATE,
            version=version_of(ACTIVATE),
            request=msgspec.msgpack.encode(logged_settings(settings)),
            secrets=tuple(references),
        )
    )


def request_of(asked: Asked, as_type: Any, records: Sequence[Record]) -> Any:
    """Return a logged request as it was when it was decided, with its secrets restored.

    Records to append are not part of the logged request.

    Args:
        as_type: Type of the command's request.
        records: The decision's records, which contain the secrets.

    Raises:
        RequestError: INVALID_REQUEST, the request was too large to be logged, or has another
            version.
    """
    if asked.version != version_of(asked.command):
        raise _lost(f"this release cannot read version {asked.version} of {asked.command}")
    if asked.request is None:
        raise _lost(f"the log omits the request's {asked.omitted_bytes or 0} bytes")
    raw = restored(asked.request, asked.secrets, records)
    if as_type is AppendRows and isinstance(msgspec.msgpack.decode(raw)[0], list):
        # Services of 0.2.0.dev2 kept appends in this form.
        return _without_records(from_log(raw, AppendRecords))
    return from_log(raw, as_type)


def settings_of(asked: Asked, cluster_id: str) -> Settings:
    """Return the settings logged with a writer's first batch; secrets are replaced by placeholders.

    Raises:
        RequestError: INVALID_REQUEST, the settings were too large to be logged, or the placement
            has no name.
    """
    if asked.request is None:
        raise _lost("the log omits the settings")
    kept = msgspec.msgpack.decode(asked.request)
    placer = kept.pop("placer")
    if placer is None:
        raise _lost("the placement has no name")
    del kept["has_topic_policy"]  # its refusals are kept with each decision
    configs = kept.pop("static_configs")
    # Earlier releases had these two beside the static configs.
    configs.setdefault(NUM_PARTITIONS, str(kept.pop("default_partitions")))
    configs.setdefault(DEFAULT_REPLICATION_FACTOR, str(kept.pop("default_replication_factor")))
    return Settings(
        cluster_id=cluster_id,
        placer=placer_named(placer),
        static_configs={n: REDACTED if v is None else v for n, v in configs.items()},
        **kept,
    )


def _lost(why: str) -> RequestError:
    return RequestError("INVALID_REQUEST", f"the request cannot be read back: {why}")


def _of_limited_size(asked: Asked) -> Asked:
    """Return the inputs of a decision, cut to the size that may be logged.

    If all inputs together are too large, the request is left out; if the others are still too
    large, they are left out, too.
    """
    request_bytes = len(asked.request or b"")
    left = len(asked.observed or b"") + len(asked.response or b"")
    total = request_bytes + left + sum([len(reference.path) for reference in asked.secrets])
    if total <= ASKED_BYTES_MAX:
        return asked
    response = asked.response if left <= ASKED_BYTES_MAX else None
    observed = asked.observed if left <= ASKED_BYTES_MAX else None
    omitted = request_bytes + (left if response is None and observed is None else 0)
    secrets = [ref for ref in asked.secrets if response and ref.path.startswith("response")]
    return replace(
        asked,
        request=None,
        observed=observed,
        response=response,
        omitted_bytes=omitted,
        secrets=tuple(secrets),
    )


def _conditions(request: AppendRecords | AppendRows) -> bytes:
    """Return an append request in the form to log: its conditions only.

    The records need not be logged with the request, because they are in the batch itself.
    """
    if request.expected_end_offset is None and not request.expected_versions:
        return _UNCONDITIONAL
    return msgspec.msgpack.encode(plain_of(_without_records(request), ""))


def _without_records(request: AppendRecords | AppendRows) -> AppendRows:
    return AppendRows(
        rows=b"",
        count=0,
        expected_end_offset=request.expected_end_offset,
        expected_versions=request.expected_versions,
    )


_UNCONDITIONAL = msgspec.msgpack.encode(plain_of(AppendRows(rows=b"", count=0), ""))
"""The logged form of an append without conditions; most appends have none."""

_UNCONDITIONAL_APPEND = Asked(command=APPEND, version=version_of(APPEND), request=_UNCONDITIONAL)
