"""An audit of a log in DuckDB: Arrow tables, named queries, and the caller's SQL."""

import dataclasses
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Self

import msgspec
import pyarrow

from records.errors import UnavailableError
from replay.audit.digest_lines import part_digests_sql
from replay.audit.duck.broker_moves import BROKER_MOVES_SQL
from replay.audit.duck.contradictions import contradictions_table
from replay.audit.duck.dialect import SETUP, TYPES, translated
from replay.audit.duck.log_rows import log_table
from replay.audit.duck.parts import part_table
from replay.audit.duck.records import Records, known_period, period
from replay.audit.duck.sql_check import views_named
from replay.audit.fold import workers
from replay.audit.fold.outages import OUTAGES, Period, partition_outages
from replay.audit.fold.partition_changes import KIND
from replay.audit.fold.partition_states import OLD, STATES, partition_states
from replay.audit.found_after_gap import crossings, found_sql
from replay.audit.gaps import gaps_table
from replay.audit.log_files import LogFiles
from replay.audit.queries.asking import Range, chosen_parameters
from replay.audit.queries.query import Parameter, Query
from replay.audit.record_types import BULK, OF_TOPICS, RARE
from replay.audit.relations import RELATIONS
from replay.audit.selection import EVERYTHING, Selection
from replay.audit.states import broker_states_sql, state_columns
from replay.audit.view_names import VIEWS_ABOUT

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # The caller's SQL reads the views, and neither files nor variables of this program.
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
}


class DuckAudit:
    """Arrow tables of one log, computed in this process. Use it in a `with` statement."""

    def __init__(self, files: LogFiles, *, keep: bool = False) -> None:
        """Open the committed files of a log.

        Args:
            keep: Decode all records at once, because several queries will read them.

        Raises:
            UnavailableError: DuckDB is not installed.
        """
        try:
            import duckdb
        except ImportError as error:
            raise UnavailableError(
                f"DuckDB is missing ({error}); install it (pip install 'metadata-log[duckdb]'), or "
                "use --engine spark"
            ) from error
        self._records = Records(files, keep=keep)
        self._duckdb = duckdb.connect(config=_CONFIG)
        self._duckdb.execute(SETUP)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._duckdb.close()

    def query(
        self,
        query: Query,
        offsets: Range,
        parameters: Mapping[str, Parameter] | None = None,
        *,
        show_secrets: bool = False,
    ) -> pyarrow.Table:
        """Return the answer to a named query, with the types that Spark's answer has.

        Raises:
            RequestError: INVALID_REQUEST: the query has no such parameter, or a value has another
                type; or as for `LogFiles.check_known`.
            UnknownHistoryError: as for `LogFiles.check_known`.
        """
        chosen = chosen_parameters(query, parameters or {})
        self._records.files.check_known(offsets.last)
        if query.compares_states:
            effect = self._records.effect_of(offsets.first, offsets.last)
            offsets = dataclasses.replace(offsets, first=effect)
        self._register(query.reads, offsets, query.selection, show_secrets=show_secrets)
        text = translated(query.duckdb or query.sql, chosen)
        answer = self._duckdb.execute(text, chosen or None).to_arrow_table()
        schema = pyarrow.schema([(name, TYPES[c.type]) for name, c in query.columns.items()])
        return answer.cast(schema)

    def sql(self, text: str, offsets: Range, *, show_secrets: bool = False) -> pyarrow.Table:
        """Return the answer to the caller's SQL query over the views.

        The text is untrusted: it must be one SELECT over the views, and DuckDB runs it without
        access to files, to the network and to its settings.

        Raises:
            RequestError: INVALID_REQUEST: the query would do more than read the views.
            duckdb.Error: DuckDB cannot parse, resolve or run the query.
        """
        if text.strip().rstrip(";").upper().split() == ["SHOW", "TABLES"]:
            rows = sorted(VIEWS_ABOUT.items())
            return pyarrow.table({"view": [v for v, _ in rows], "about": [a for _, a in rows]})
        text = translated(text)
        named = views_named(self._duckdb, text)
        self._register(named, offsets, show_secrets=show_secrets)
        return _with_short_sums(self._duckdb.execute(text).to_arrow_table())

    def view(
        self,
        name: str,
        offsets: Range,
        *,
        selection: Selection = EVERYTHING,
        show_secrets: bool = False,
    ) -> pyarrow.Table:
        """Return a view (view_names.py) over a range of offsets."""
        self._register((name,), offsets, selection, show_secrets=show_secrets)
        return self._duckdb.execute(f"SELECT * FROM {name}").to_arrow_table()

    def changes(self, rows: pyarrow.Table, *, show_secrets: bool = False) -> pyarrow.Table:
        """Convert rows with the columns of `fold.changes.CHANGES` to rows of the view `changes`."""
        columns = RELATIONS["changes"](0, 0, EVERYTHING).readable(
            EVERYTHING, show_secrets=show_secrets
        )
        text = f"SELECT {', '.join(columns)} FROM ({self._table('changes', rows)})"
        return self._duckdb.execute(translated(text)).to_arrow_table()

    def _register(
        self,
        names: Iterable[str],
        offsets: Range,
        selection: Selection = EVERYTHING,
        *,
        show_secrets: bool = False,
    ) -> None:
        for name in sorted(names):
            text = self._view_sql(name, offsets, selection, show_secrets=show_secrets)
            view = f"CREATE OR REPLACE TEMP VIEW {name} AS {text}"
            self._duckdb.execute(translated(view))

    def _view_sql(
        self, name: str, offsets: Range, selection: Selection, *, show_secrets: bool
    ) -> str:
        """Return the SQL of a view, after registering the Arrow table that it reads."""
        last = offsets.last
        self._records.files.check_known(last)
        match name:
            case "log":
                rows = log_table(self._records.files, offsets, show_secrets=show_secrets)
                return self._table(name, rows)
            case "all_changes":
                every = dataclasses.replace(offsets, first=0)
                text = self._view_sql("changes", every, selection, show_secrets=show_secrets)
                return f"SELECT *, offset >= {offsets.first} AS in_range FROM ({text})"
            case name if name in RELATIONS:
                return self._relation(name, offsets, selection, show_secrets=show_secrets)
            case "partition_outages":
                return self._table(name, self._outages(offsets))
            case "partition_states":
                self._register(("period",), offsets)
                return self._partition_states(offsets, selection)
            case "contradictions":
                self._table(name, contradictions_table(self._records, last))
                return (
                    "SELECT offset, timestamp_millis(timestamp) AS time, record, object, what "
                    f"FROM {_TABLE}{name}"
                )
            case "gaps":
                return self._table(name, gaps_table(self._records.files.earlier))
            case "found_after_gap":
                return self._found_after_gap(show_secrets=show_secrets)
            case "period":
                times = period(self._records.files, offsets.first, last)
                first_time, last_time = (
                    f"timestamp_millis({'null' if ms is None else ms})" for ms in times
                )
                return (
                    f"SELECT CAST({offsets.first} AS bigint) AS first_offset, "
                    f"{first_time} AS first_time, {last_time} AS last_time"
                )
            case "broker_states":
                self._register(("all_changes", "period"), offsets, Selection(kinds=("brokers",)))
                return broker_states_sql()
            case "broker_moves":
                moves = Selection(kinds=("partitions",), fields=("replicas", "leader"))
                self._register(("all_changes",), offsets, moves)
                return BROKER_MOVES_SQL
            case "part_digests":
                return part_digests_sql(self._sums(last))
        rows = part_table(self._records, name, last, show_secrets=show_secrets)
        return self._table(name, rows)

    def _found_after_gap(self, *, show_secrets: bool) -> str:
        found = []
        for number, (gap, *sides) in enumerate(crossings(self._records.files)):
            before, after = f"{_TABLE}net_before_{number}", f"{_TABLE}net_after_{number}"
            for name, (files, at) in zip((before, after), sides, strict=True):
                with DuckAudit(files) as part:
                    rows = part.view("net_changes", Range(0, at), show_secrets=True)
                self._duckdb.register(name, rows)
            found.append((gap.from_offset, before, after))
        return found_sql(found, show_secrets=show_secrets)

    def _table(self, name: str, rows: pyarrow.Table) -> str:
        """Register an Arrow table, and return SQL that reads it."""
        self._duckdb.register(f"{_TABLE}{name}", rows)
        return f"SELECT * FROM {_TABLE}{name}"

    def _relation(
        self, name: str, offsets: Range, selection: Selection, *, show_secrets: bool
    ) -> str:
        kept_from = self._records.files.base_end_offset
        relation = RELATIONS[name](offsets.first, kept_from, selection)
        columns = relation.sources(selection, show_secrets=show_secrets)
        find = partial(relation.find, columns=columns)
        others = relation.others and partial(relation.others, columns=columns)
        schema = pyarrow.schema([relation.schema.field(each) for each in columns])
        if others is None or selection.is_of_partitions_only:
            batches = workers.changes(self._records.of_types(offsets.last, OF_TOPICS | BULK), find)
        elif selection.has(KIND):
            records = self._records.of_types(offsets.last, RARE | BULK)
            batches = workers.changes(records, find, others)
        else:
            batches = others(self._records.others(offsets.last))
        self._table(name, pyarrow.Table.from_batches(batches, schema))
        sql = relation.readable(selection, show_secrets=show_secrets)
        return f"SELECT {', '.join(sql)} FROM {_TABLE}{name}"

    def _partition_states(self, offsets: Range, selection: Selection) -> str:
        columns = state_columns(selection)
        find = partial(partition_states, columns=columns.sources)
        schema = pyarrow.schema([STATES.field(name) for name in columns.sources])
        records = self._records.of_types(offsets.last, OF_TOPICS | BULK)
        rows = pyarrow.Table.from_batches(workers.changes(records, find), schema)
        self._table("partition_states", rows)
        sql = columns.sql
        if columns.old is not None:
            old = ", ".join(f"'{name}': {OLD}{name}" for name in columns.old)
            sql = [*sql, f"{{{old}}} AS {OLD.rstrip('_')}"]
        return f"SELECT {', '.join(sql)} FROM {_TABLE}partition_states CROSS JOIN period"

    def _outages(self, offsets: Range) -> pyarrow.Table:
        times = known_period(self._records.files, offsets.first, offsets.last)
        find = partial(partition_outages, period=Period(offsets.first, *times))
        records = self._records.of_types(offsets.last, OF_TOPICS | BULK)
        return pyarrow.Table.from_batches(workers.changes(records, find), OUTAGES)

    def _sums(self, at: int) -> dict[str, tuple[int, ...]]:
        batches = workers.digest(self._records.of_types(at, BULK | RARE))
        (text,) = (each["sums"][0].as_py() for each in batches)
        return msgspec.json.decode(text, type=dict[str, tuple[int, ...]])


def _with_short_sums(table: pyarrow.Table) -> pyarrow.Table:
    """Return a table with DuckDB's sums of 128 bits narrowed to 64 bits, as in Spark's answers.

    A column with a value that does not fit stays as it is.
    """
    for number, field in enumerate(table.schema):
        if field.type == pyarrow.decimal128(38, 0):
            with suppress(pyarrow.ArrowInvalid):
                sums = table[field.name].cast(pyarrow.int64())
                table = table.set_column(number, field.name, sums)
    return table


_TABLE = "of_"
"""Prefix of the name of the Arrow table that a view reads."""
