"""Redaction: removes secrets from output unless they are requested."""

from typing import Any

from records.secrets import REDACTED, SECRET_FIELDS, is_secret_config

_SECRET_FIELDS = {
    **SECRET_FIELDS,
    "scram": SECRET_FIELDS["UserScramCredentialRecord"],
    "token": SECRET_FIELDS["DelegationTokenRecord"],
}


def holds_secrets(kind: str) -> bool:
    """True if objects of a kind may have a secret name or field."""
    return kind == "config" or kind in _SECRET_FIELDS


def redact_field(kind: str, field: str, value: Any) -> Any:
    """Return the value of an object's field, or a placeholder if it is secret."""
    if value is None:
        return None
    if kind == "config":
        return REDACTED if is_secret_config(field) else value
    return REDACTED if field in _SECRET_FIELDS.get(kind, ()) else value


def redact_label(kind: str, label: str) -> str:
    """Return the name of an object, redacted for tokens, whose name is secret."""
    return REDACTED if kind == "token" else label


def redact_kraft_json(document: dict[str, Any]) -> dict[str, Any]:
    """Return an image in the form of `kraft_json`, with secrets removed."""
    return {
        **document,
        "configs": [
            [key, {name: redact_field("config", name, value) for name, value in values.items()}]
            for key, values in document["configs"]
        ],
        "scram": [
            [
                key,
                {name: redact_field("scram", _snake(name), value) for name, value in item.items()},
            ]
            for key, item in document["scram"]
        ],
        "tokens": [
            [REDACTED, {name: redact_field("token", _snake(name), v) for name, v in item.items()}]
            for _, item in document["tokens"]
        ],
    }


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
