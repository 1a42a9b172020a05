"""Origins and stored requests as JSON for display; requests are decoded without their types."""

from typing import Any

import msgspec
from msgspec.structs import replace

from records.base import ZERO_UUID, Uuid
from records.envelope import Asked, Origin
from records.json import fields_json
from records.text import bytes_text, uuid_text

_ENCODED = ("request", "observed")


def asked_json(asked: Asked) -> dict[str, Any]:
    """Return the fields of `asked` that are set, as JSON values.

    A structure is shown as the list of field values that the log stores. Bytes are shown as an id
    if they have the length of an id.
    """
    document = {
        name: value for name, value in fields_json(asked).items() if value not in (None, [])
    }
    for name in _ENCODED:
        raw = getattr(asked, name)
        if raw is not None:
            document[name] = _plain(msgspec.msgpack.decode(raw))
    if asked.response is not None:
        # Most questions about the log show no answer, and need nothing of the controller.
        from controller.asked.kept_answers import decode_answer

        response, versions = decode_answer(asked.response)
        document["response"] = _plain(msgspec.msgpack.decode(response))
        if versions:
            document["versions"] = msgspec.to_builtins(versions)
    return document


def origin_json(origin: Origin | None) -> dict[str, Any] | None:
    """Return the origin of a batch as JSON, without unknown fields."""
    if origin is None:
        return None
    # The hash only recognises a repeated request; it may cover secrets.
    shown = replace(origin, request_hash=None)
    return {name: value for name, value in fields_json(shown).items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return uuid_text(Uuid(value)) if len(value) == len(ZERO_UUID) else bytes_text(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value
