"""Audit query for the first record that contradicts the state before it."""

from replay.audit.queries.query import RECORD, RECORD_TYPE, Column, Query

CONTRADICTIONS = Query(
    "contradictions",
    "the first record up to --until that contradicts the state before it",
    """
    SELECT offset, time, record, object, what
    FROM contradictions
    """,
    {
        **RECORD,
        "record": RECORD_TYPE,
        "object": Column("string", "the object it is about, such as `broker:1`"),
        "what": Column("string", "what is wrong"),
    },
    reads=("contradictions",),
)
