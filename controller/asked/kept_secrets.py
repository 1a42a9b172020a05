"""Secrets in logged requests: removed when logging, restored for re-deciding.

Each secret is replaced by null, with a reference from its path to the record that contains it.
Paths are indexes and keys, from the outside in.

The HMAC of a created token is in no record: for a repeated answer, it is computed again from the
token's id. Its hash is logged, to recognize that the secret key was changed.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from controller.decisions.configs.changes import ConfigChange, Operation
from controller.decisions.context.context import Settings
from controller.decisions.outcome import Refusal
from controller.decisions.security.tokens import (
    SECRET_KEY,
    ExpireToken,
    RenewToken,
    TokenCreated,
    token_hmac,
)
from controller.decisions.security.users import ScramUpsertion
from controller.decisions.topics.topics import NewTopic
from controller.wire import plain_of
from records.base import Record
from records.configs import ConfigRecord
from records.envelope import Asked, SecretReference
from records.errors import RequestError
from records.secrets import REDACTED, SECRET_FIELDS, is_secret_config
from records.security import (
    DelegationTokenRecord,
    RemoveDelegationTokenRecord,
    UserScramCredentialRecord,
)

_KEYS = SECRET_FIELDS["UserScramCredentialRecord"]
"""The secret fields of a credential: bytes, with the same names in request and record."""

(_TOKEN_ID,) = SECRET_FIELDS["DelegationTokenRecord"]

_HASH = "hash of the hmac"

_SECRETIVE = frozenset({"value", "request", "hmac", "stored_key"})
"""The fields of which an object has one if it holds a secret or a transaction's step."""


def restored(
    raw: bytes,
    secrets: Sequence[SecretReference],
    records: Sequence[Record],
    what_stored: str = "request",
) -> bytes:
    """Return a logged request, or response, with its secrets restored.

    A secret that is in no record belongs to a refused item and is replaced by a placeholder. The
    HMAC of a token is in no record and stays null; see `with_hmac`.

    Args:
        raw: The logged request or response.
        records: The decision's records.
        what_stored: `request` or `response`.
    """
    plain = msgspec.msgpack.decode(raw)
    for secret in secrets:
        what, *path = secret.path.split("/")
        if what == what_stored:
            plain = _with(plain, path, _value(secret, records))
    return msgspec.msgpack.encode(plain)


def without_secrets(wire: bytes) -> bytes | None:
    """Return a request, encoded as over connections, with secrets as null; None if it has none.

    Records to append are not changed.
    """
    # A hash of an HMAC reveals nothing: it has 512 bits, made with a key.
    secrets = HiddenSecrets((), keeps_hmacs=True)
    hidden = secrets.hidden_plain(msgspec.msgpack.decode(wire))
    return msgspec.msgpack.encode(hidden) if secrets.references else None


def has_same_secrets(
    request: Any, secrets: Sequence[SecretReference], records: Sequence[Record]
) -> bool:
    """True if a repeated request, otherwise equal to the first one, has the same secrets.

    Secrets of refused items are in no record, and are not compared.

    Args:
        secrets: References from the first request's secrets to the records of its decision.
        records: The first records of that decision.
    """
    held = [
        (secret.path.split("/")[1:], getattr(records[secret.record_index], secret.field))
        for secret in secrets
        if secret.record_index is not None
        and secret.record_index < len(records)
        and secret.field not in (None, _TOKEN_ID)  # the hash of the request covers tokens
        and secret.path.startswith("request/")
    ]
    plain = plain_of(request, "") if held else None
    return all(_at(plain, path) == value for path, value in held)


def _at(plain: Any, path: Sequence[str]) -> Any:
    """Return the value at a path in a plain value."""
    for step in path:
        if isinstance(plain, bytes):  # the encoded request of a transaction's step
            plain = msgspec.msgpack.decode(plain)
        plain = plain[int(step) if isinstance(plain, list) else step]
    return plain


def _value(secret: SecretReference, records: Sequence[Record]) -> str | bytes:
    if secret.record_index is None or secret.field is None:
        return REDACTED.encode() if secret.field in _KEYS else REDACTED
    value: str | bytes = getattr(records[secret.record_index], secret.field)
    return value


def _with(plain: Any, path: Sequence[str], value: str | bytes) -> Any:
    """Return a copy of a plain value, with the value at a path replaced."""
    if not path:
        return value
    first, *rest = path
    if isinstance(plain, bytes):  # the encoded request of a transaction's step
        return msgspec.msgpack.encode(_with(msgspec.msgpack.decode(plain), path, value))
    key = int(first) if isinstance(plain, list) else first
    plain = list(plain) if isinstance(plain, list) else dict(plain)
    plain[key] = _with(plain[key], rest, value)
    return plain


class HiddenSecrets:
    """Removes secrets from a request and its response, and finds the records that contain them."""

    def __init__(self, records: Sequence[Record], *, keeps_hmacs: bool = False) -> None:
        self._records = records
        self._keeps_hmacs = keeps_hmacs
        self._values: set[str] = set()
        self.references: list[SecretReference] = []

    def hidden(self, value: Any, path: str) -> Any:
        """Return the plain form of a value, with secrets as null."""
        return plain_of(value, path, self._replacement)

    def without_quotes(self, plain: Any) -> Any:
        """Return a text, or a list of texts, with the secrets found so far redacted.

        Other values are returned unchanged.
        """
        match plain:
            case str():
                for secret in filter(None, self._values):
                    plain = plain.replace(secret, REDACTED)
            case list():
                return [self.without_quotes(each) for each in plain]
        return plain

    def _replacement(self, value: Any, path: str) -> Any:
        """Return a value with its secrets replaced; the value itself if it contains none."""
        if isinstance(wire := getattr(value, "request", None), bytes):  # a transaction's step
            return [value.command, self._hidden_step(value.command, wire, f"{path}/1")]
        match value:
            case ConfigChange(name=name, value=str(secret)) if is_secret_config(name):
                self._refer(name, secret, f"{path}/1")
                # A list, in which the null at the end is not left out as the default.
                operation = value.operation
                return [name, None] if operation is Operation.SET else [name, None, operation]
            case RenewToken() | ExpireToken():
                self._refer_to_token(f"{path}/1")
                return [None, None, value.period_ms]
            case TokenCreated():
                self._refer_to_token(f"{path}/0")
                return [None, None, *msgspec.structs.astuple(value)[2:]]
            case ScramUpsertion():
                return self._hidden_credential(value, path)
            case NewTopic(configs=configs):
                return msgspec.structs.replace(value, configs=self._hidden_configs(configs, path))
            case Refusal(message=message):
                # It can quote the value that it refuses; other texts of a response are names.
                return msgspec.structs.replace(value, message=self.without_quotes(message))
        return value

    def _hidden_step(self, command: str, wire: bytes, path: str) -> bytes:
        """Return the encoded request of a transaction's step, with secrets as null.

        Args:
            path: Path of the step's request; the paths of the secrets in it start with it.
        """
        plain = msgspec.msgpack.decode(wire)
        if command == "records append":
            plain = {**plain, "rows": b""}  # they stand in the batch itself
        return msgspec.msgpack.encode(self.hidden_plain(plain, path))

    def hidden_plain(self, plain: Any, path: str = "") -> Any:
        """Return a request, in the form sent over connections, with secrets as null."""
        # A long request has tens of thousands of values, most of which cannot hold a secret.
        if isinstance(plain, dict):
            if not _SECRETIVE.isdisjoint(plain):
                found = self._hidden_fields(plain, path)
                if found is not None:
                    return found
            return {
                key: self.hidden_plain(item, f"{path}/{key}") if _may_hold(item) else item
                for key, item in plain.items()
            }
        if isinstance(plain, list):
            if len(plain) == 2 and "/configs/" in path:
                name, secret = plain
                if isinstance(name, str) and isinstance(secret, str) and is_secret_config(name):
                    self._refer(name, secret, f"{path}/1")
                    return [name, None]
            return [
                self.hidden_plain(item, f"{path}/{index}") if _may_hold(item) else item
                for index, item in enumerate(plain)
            ]
        return plain

    def _hidden_fields(self, plain: dict[str, Any], path: str) -> dict[str, Any] | None:
        """Return the fields of an object with a secret; None if it has none itself."""
        match plain:
            case {"name": str(name), "value": str(secret)} if is_secret_config(name):
                self._refer(name, secret, f"{path}/value")
                return {**plain, "value": None}
            case {"command": str(), "request": bytes(wire)}:  # a transaction's step
                step = self.hidden_plain(msgspec.msgpack.decode(wire), f"{path}/request")
                return {**plain, "request": msgspec.msgpack.encode(step)}
            case {"hmac": bytes() | None, "token_id": str() | None} if not self._keeps_hmacs:
                self._refer_to_token(f"{path}/token_id")
                return {**plain, "hmac": None, "token_id": None}
            case {"user": str(), "stored_key": bytes()}:
                index = self._index_of_credential(plain)
                self._refer_to_keys(index, [f"{path}/{key}" for key in _KEYS])
                return {**plain, **dict.fromkeys(_KEYS)}
        return None

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

    def _hidden_credential(self, value: ScramUpsertion, path: str) -> ScramUpsertion:
        places = [f"{path}/{value.__struct_fields__.index(key)}" for key in _KEYS]
        self._refer_to_keys(self._index_of_credential(msgspec.structs.asdict(value)), places)
        return msgspec.structs.replace(value, **dict.fromkeys(_KEYS))

    def _index_of_credential(self, fields: Mapping[str, Any]) -> int | None:
        """Return the index of the record that sets a credential."""
        for index, record in enumerate(self._records):
            if isinstance(record, UserScramCredentialRecord):
                held = {**msgspec.structs.asdict(record), "user": record.name}
                if all(held[name] == fields[name] for name in ("user", "mechanism", *_KEYS)):
                    return index
        return None

    def _refer_to_token(self, path: str) -> None:
        """Add a reference to the token id in the records, from which the HMAC can be computed."""
        types = DelegationTokenRecord | RemoveDelegationTokenRecord
        found = (i for i, record in enumerate(self._records) if isinstance(record, types))
        index = next(found, None)
        field = None if index is None else _TOKEN_ID
        self.references.append(SecretReference(path=path, record_index=index, field=field))

    def _refer_to_keys(self, index: int | None, places: Sequence[str]) -> None:
        for place, key in zip(places, _KEYS, strict=True):
            self.references.append(SecretReference(path=place, record_index=index, field=key))

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


def _may_hold(plain: Any) -> bool:
    """True if a plain value can hold a secret; most values of a long request are scalars."""
    return isinstance(plain, dict | list) and bool(plain)


def hash_of_hmac(response: Any) -> dict[str, bytes]:
    """Return the hash of a response's HMAC by its name in the log; empty without an HMAC."""
    if not isinstance(response, TokenCreated) or response.hmac is None:
        return {}
    # It reveals nothing: an HMAC has 512 bits, made with a key.
    return {_HASH: hashlib.sha256(response.hmac).digest()}


def with_hmac(created: TokenCreated, asked: Asked, settings: Settings) -> TokenCreated:
    """Return the logged response with its HMAC, computed with the secret key in `settings`.

    Raises:
        RequestError: DELEGATION_TOKEN_AUTH_DISABLED, there is no secret key, or the token was made
            with another key (not noticed for tokens of earlier releases, which logged no hash).
    """
    secret_key = settings.static_configs.get(SECRET_KEY)
    if not secret_key:
        raise _disabled(
            f"the HMAC is computed with the static config {SECRET_KEY}; give that config"
        )
    answer = replace(created, hmac=token_hmac(secret_key, created.token_id))
    seen = {} if asked.observed is None else msgspec.msgpack.decode(asked.observed)
    if _HASH in seen and hash_of_hmac(answer) != {_HASH: seen[_HASH]}:
        raise _disabled(
            f"the static config {SECRET_KEY} is not the one with which the token was made"
        )
    return answer


def _disabled(why: str) -> RequestError:
    return RequestError("DELEGATION_TOKEN_AUTH_DISABLED", why)
