"""Redaction of secrets in frames; `records.secrets` lists the secret fields."""

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField

from records.secrets import PUBLIC_CONFIGS, REDACTED, SECRET_FIELDS
from replay.audit.avro_types import UNION_MEMBER_PREFIX

_PARTS = {
    "delegation_tokens": SECRET_FIELDS["DelegationTokenRecord"],
    "scram": SECRET_FIELDS["UserScramCredentialRecord"],
}


def redact_log(rows: DataFrame) -> DataFrame:
    """Return the rows of a log without secrets, and without `extra` and `asked`.

    `extra` holds data unknown to this release, any of which may be secret; `asked` holds encoded
    requests, which are useless in SQL.
    """
    payload = rows.schema["payload"].dataType
    members = (f"'{each.name}', {_member(each)}" for each in payload.fields)
    # One structure from all members: replacing field by field repeats the payload each time.
    columns = (
        f"named_struct({', '.join(members)}) AS payload" if name == "payload" else name
        for name in rows.columns
        if name not in ("extra", "asked")
    )
    return rows.selectExpr(*columns)


def redact_part(name: str, frame: DataFrame) -> DataFrame:
    """Return a part of the state with secret values replaced by `(redacted)`."""
    hidden = _hidden_fields("", name == "configs", _PARTS.get(name, ()))
    return frame.selectExpr(*(f"{hidden.get(each, each)} AS {each}" for each in frame.columns))


def _member(member: StructField) -> str:
    """Return SQL of a member of the payload with secret fields replaced by `(redacted)`."""
    path = f"payload.{member.name}"
    record = member.name.removeprefix(UNION_MEMBER_PREFIX)
    hidden = _hidden_fields(f"{path}.", record == "ConfigRecord", SECRET_FIELDS.get(record, ()))
    if not hidden:
        return path
    names = member.dataType.names
    fields = ", ".join(f"'{each}', {hidden.get(each, f'{path}.{each}')}" for each in names)
    return f"if({path} IS null, null, named_struct({fields}))"


def _hidden_fields(path: str, is_config: bool, secret: Collection[str]) -> dict[str, str]:
    """Return, by field name, the SQL that replaces the field's value if it is secret.

    Fields that are never secret are left out.
    """
    if is_config:
        public = ", ".join(f"'{name}'" for name in sorted(PUBLIC_CONFIGS))
        value = f"{path}value"
        return {"value": f"if({path}name IN ({public}), {value}, {_hidden(value)})"}
    return {field: _hidden(f"{path}{field}") for field in secret}


def _hidden(secret: str) -> str:
    return f"if({secret} IS NOT null, '{REDACTED}', null)"
