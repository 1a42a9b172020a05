"""Effective changes: one row for each field of an object that a record changed.

Each record is converted to settings: (object, field, value), where a null value removes the field.
A change is the difference between a setting and the previous setting of the same field. Audit
queries select from this relation.
"""

from pyspark.sql import DataFrame

from records.secrets import PUBLIC_CONFIGS, REDACTED, SECRET_FIELDS
from replay.audit.digest import id_text
from replay.audit.history import History
from replay.audit.parts.topics import names_taken
from replay.audit.settings import settings

_HOUR_MS = 3_600_000
_FOR_EVER = 2**63 - 1

SCHEMA = {
    "offset": "long, of the record",
    "time": "timestamp, when the record was appended",
    "hour": "timestamp, the start of the hour of `time` in UTC",
    "kind": "string, the object's part in docs/digest.md",
    "id": "string, the object's key; a topic's is its id",
    "name": "string, the same with the topic's full name at that offset",
    "field": "string; in `configs` the config's name",
    "before": "string, JSON if a list; null: the field was not set",
    "after": "string, JSON if a list; null: the field was removed",
    "record": "string, type of the record",
    "principal": "string, null if unknown",
    "command": "string, null if unknown",
    "reason": "string, null if none was given",
    "in_effect": "boolean, false if the record's transaction was aborted",
}
"""Columns of `changes`."""


def changes(history: History, first: int = 0, *, show_secrets: bool = False) -> DataFrame:
    """Return the changes at offsets from `first` to the end of a history.

    The column `before` has the previous value, also if it was set before `first`. Transactions that
    are still open are left out. Derived values are left out too: epochs, directories reset because
    they no longer fit the replicas, eligible replicas cleared by ClearElrRecord.

    Args:
        history: A history with the columns `settings.COLUMNS`.
        first: First offset of the range.
        show_secrets: Keep secret values. If false, they are replaced by text.

    Returns:
        The columns of `SCHEMA`.
    """
    same_field = "PARTITION BY kind, topic_id, head, rest, field ORDER BY position"
    with_before = history.sql(
        f"""
        SELECT *, CASE WHEN lag(aborted_at) OVER ({same_field}) = aborted_at
                       THEN lag(value) OVER ({same_field})
                       ELSE last(CASE WHEN aborted_at IS null THEN struct(value) END) IGNORE NULLS
                                OVER ({same_field} ROWS BETWEEN UNBOUNDED PRECEDING
                                                        AND 1 PRECEDING).value
                  END AS before
        FROM {{settings}}
        """,
        settings=settings(history),
    )
    changed = with_before.where(f"position >= {first} AND NOT before <=> value")
    return _readable(history, changed, show_secrets=show_secrets)


def _readable(history: History, changed: DataFrame, *, show_secrets: bool) -> DataFrame:
    before, after = "before", "value"
    whole_id, whole_name = (
        f"head || coalesce({topic}, '') || rest"
        for topic in (id_text("topic_id"), f"coalesce(full_name, {id_text('topic_id')})")
    )
    if not show_secrets:
        before, after = (f"if({_SECRET}, {_hidden(value)}, {value})" for value in (before, after))
        whole_id, whole_name = (
            # A token's key is its secret; a hash tells tokens apart.
            f"if(kind = 'delegation_tokens', '{REDACTED} ' || left(sha2({text}, 256), 16), {text})"
            for text in (whole_id, whole_name)
        )
    return history.sql(
        f"""
        SELECT position AS offset, timestamp_millis(timestamp) AS time,
               timestamp_millis(timestamp - pmod(timestamp, {_HOUR_MS})) AS hour, kind,
               {whole_id} AS id, {whole_name} AS name, field, {before} AS before,
               {after} AS after, record, origin.principal, origin.command, origin.reason,
               aborted_at IS null AS in_effect
        FROM {{changed}} LEFT JOIN (
            SELECT topic_id AS of_topic, full_name, position AS named_at,
                   lead(position, 1, {_FOR_EVER}L) OVER (PARTITION BY topic_id ORDER BY position)
                       AS renamed_at
            FROM {{taken}})
            ON topic_id = of_topic AND position BETWEEN named_at AND renamed_at - 1
        """,
        changed=changed,
        taken=names_taken(history),
    )


def _hidden(value: str) -> str:
    return f"if({value} IS null, null, '{REDACTED}')"


def _secret() -> str:
    """Return an SQL condition: true if a field's values are secret."""
    public = ", ".join(f"'{name}'" for name in sorted(PUBLIC_CONFIGS))
    keys = ", ".join(f"'{field}'" for field in SECRET_FIELDS["UserScramCredentialRecord"])
    return f"(kind = 'configs' AND field NOT IN ({public}) OR kind = 'scram' AND field IN ({keys}))"


_SECRET = _secret()
