"""Count no partition as down that is taken offline to be removed, as the commands do."""

from typing import Any

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

# The views whose columns say whether a partition is down, and the conditions of these columns.
_STATES = ("partition_states", "partitions_now")
_CONDITIONS = ("p.leader = -1", "s.isr_count < s.replica_count - s.adding_count")

_NOT_OFFLINE = " AND ({0}.mode <> -1 OR {0}.leader <> -1)"

_OFFLINE = "a partition that is taken offline to be removed"
_COLUMNS = {
    "leaderless": f"1 if it has no leader, else 0; 0 for {_OFFLINE}.",
    "under_replicated": "1 if replicas that are not being added are out of sync, else 0; "
    f"0 for {_OFFLINE}.",
}
_VIEWS = {
    "outages": "Times in which a partition had no leader or was under-replicated; not those of "
    f"{_OFFLINE}.",
    "under_replicated": "Partitions that have fewer in-sync replicas than replicas; not "
    f"{_OFFLINE}.",
}


def upgrade() -> None:
    """Create the views with the mode in their conditions."""
    for name in _STATES:
        query = _module("0009")._VIEWS[name]
        for condition in _CONDITIONS:
            query = query.replace(condition, condition + _NOT_OFFLINE.format("p"))
        _replace(name, query)
    _replace_outages(_NOT_OFFLINE.format("h"))
    _comment(_VIEWS, _COLUMNS)


def downgrade() -> None:
    """Create the views as they were."""
    for name in _STATES:
        _replace(name, _module("0009")._VIEWS[name])
    _replace_outages("")
    before = _module("0010")
    _comment(before._VIEWS, before._COLUMNS)


def _replace_outages(condition: str) -> None:
    before = _module("0012")
    kinds = [
        before._of_kind(before._OUTAGES, kind, states + condition)
        for kind, states in before._STATES.items()
    ]
    _replace("outages", " UNION ALL ".join(kinds))


def _replace(view: str, query: str) -> None:
    if _is_sqlite():
        op.execute(f"DROP VIEW {view}")
        op.execute(f"CREATE VIEW {view} AS {query}")
    else:
        # The view has the same columns, and so keeps its comments and rights.
        op.execute(f"CREATE OR REPLACE VIEW {view} AS {query}")


def _comment(views: dict[str, str], columns: dict[str, str]) -> None:
    if _is_sqlite():
        return
    comment = _module("0010")._comment
    for view in _VIEWS:
        comment(f"VIEW {view}", views[view])
    for view in (*_STATES, "under_replicated"):
        for column in _COLUMNS:
            comment(f"COLUMN {view}.{column}", columns[column])


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _module(number: str) -> Any:
    """Return an earlier migration, which made the views or their comments."""
    environment = op.get_context().environment_context
    assert environment is not None
    return environment.script.get_revision(number).module
