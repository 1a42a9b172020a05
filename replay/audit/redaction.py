"""Removes secrets from frames; `records.secrets` defines them."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

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
    return rows.withColumn("payload", _redact_payload(F.col("payload"))).drop("extra", "asked")


def _redact_payload(payload: Column) -> Column:
    """Return the payload of a log frame, with text in place of secret fields."""
    for record, fields in SECRET_FIELDS.items():
        member = f"{UNION_MEMBER_PREFIX}{record}"
        for field in fields:
            secret = payload.getField(member).getField(field)
            payload = payload.withField(f"{member}.{field}", _hidden(secret))
    config = payload.getField(f"{UNION_MEMBER_PREFIX}ConfigRecord")
    value = _hidden_config(config.getField("name"), config.getField("value"))
    return payload.withField(f"{UNION_MEMBER_PREFIX}ConfigRecord.value", value)


def redact_part(name: str, frame: DataFrame) -> DataFrame:
    """Return a part of the state, with text in place of secret columns."""
    if name == "configs":
        return frame.withColumn("value", _hidden_config(F.col("name"), F.col("value")))
    return frame.withColumns({field: _hidden(F.col(field)) for field in _PARTS.get(name, ())})


def _hidden(secret: Column) -> Column:
    return F.when(secret.isNotNull(), F.lit(REDACTED))


def _hidden_config(name: Column, value: Column) -> Column:
    return F.when(name.isin(*sorted(PUBLIC_CONFIGS)), value).otherwise(_hidden(value))
