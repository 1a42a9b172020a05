"""An audit of a log in one Spark session: frames, named queries, and the caller's SQL."""

import dataclasses
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Self

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession

from records.avro.schema import projected_schema
from replay.audit.changes import COLUMNS, relation
from replay.audit.contradictions import first_contradiction
from replay.audit.digest_lines import part_digests_sql
from replay.audit.found_after_gap import crossings, found_sql
from replay.audit.gaps import gaps_table
from replay.audit.history import History
from replay.audit.log_files import LogFiles
from replay.audit.log_frame import read_around
from replay.audit.pruning import bounds_of
from replay.audit.queries.asking import Range, chosen_parameters
from replay.audit.queries.query import Parameter, Query
from replay.audit.records import effect_of
from replay.audit.relations import RELATIONS
from replay.audit.selection import EVERYTHING, Selection
from replay.audit.session import activated, is_remote, separate_session
from replay.audit.sql_check import (
    as_frame,
    check_analyzed,
    check_parsed,
    check_server_functions,
    is_show_tables,
    parse_query,
)
from replay.audit.state import sums
from replay.audit.state_frames import partition_outages_view, partition_states_view
from replay.audit.states import broker_states_sql
from replay.audit.view_names import LOG_VIEW, VIEWS, VIEWS_ABOUT
from replay.audit.views import BROKER_MOVES, BROKER_MOVES_SQL, log_view, part_view


class Audit:
    """DataFrames of one log, in a separate Spark session.

    The caller's views and settings are not changed. Use an audit in a `with` statement, which frees
    the cached frames on exit.
    """

    def __init__(self, spark: SparkSession, files: LogFiles, *, keep: bool = False) -> None:
        """Open the committed files of a log.

        Args:
            files: The files, frozen by `LogFiles.frozen`.
            keep: Cache the changes, because several queries will read them.
        """
        self.files = files
        self._keep = keep
        self._cached = ExitStack()
        self.spark = self._cached.enter_context(separate_session(spark))
        self._histories: dict[tuple[int, bool], History] = {}
        self._relations: dict[tuple[str, int, bool], DataFrame] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._cached.close()

    def view(
        self,
        name: str,
        offsets: Range,
        *,
        selection: Selection = EVERYTHING,
        show_secrets: bool = False,
    ) -> DataFrame:
        """Return a view (views.py) over a range of offsets.

        A view of a part of the state shows the state at the end of the range.

        Args:
            name: The view.
            offsets: The range.
            selection: The changes or states and the columns that are needed; more may be returned.
            show_secrets: Keep secret values.

        Raises:
            UnknownHistoryError, RequestError: as for `History`.
        """
        # Spark parses and resolves with the settings of the active session.
        with activated(self.spark):
            return self._view(name, offsets, selection, show_secrets=show_secrets)

    def _view(
        self, name: str, offsets: Range, selection: Selection, *, show_secrets: bool
    ) -> DataFrame:
        match name:
            case "log":
                end = offsets.last + 1
                return log_view(
                    self.spark, self.files, offsets.first, end, show_secrets=show_secrets
                )
            case "changes" | "changed_objects":
                return self._relation(name, offsets, selection, show_secrets=show_secrets)
            case "all_changes":
                every = dataclasses.replace(offsets, first=0)
                found = self._relation("changes", every, selection, show_secrets=show_secrets)
                return found.selectExpr("*", f"offset >= {offsets.first} AS in_range")
            case name if name in RELATIONS:
                history = self._history(offsets.last, with_origin=True)
                return relation(
                    history, name, offsets.first, selection=selection, show_secrets=show_secrets
                )
            case "partition_outages":
                history = self._history(offsets.last, with_origin=True)
                return partition_outages_view(history, self._period(offsets))
            case "contradictions":
                return first_contradiction(self._history(offsets.last, with_origin=True))
            case "gaps":
                return self.spark.createDataFrame(gaps_table(self.files.earlier))
            case "found_after_gap":
                return self._found_after_gap(show_secrets=show_secrets)
            case "period":
                return self._period(offsets)
            case "partition_states":
                history = self._history(offsets.last, with_origin=True)
                return partition_states_view(history, self._period(offsets), selection)
            case "broker_states":
                brokers = Selection(kinds=("brokers",))
                self._register(("all_changes", "period"), offsets, brokers)
                return self.spark.sql(broker_states_sql())
            case "broker_moves":
                self._register(("all_changes",), offsets, BROKER_MOVES)
                return self._kept(self.spark.sql(BROKER_MOVES_SQL))
            case "part_digests":
                return self._part_digests(offsets.last)
        history = self._history(offsets.last, with_origin=False)
        return part_view(history, name, show_secrets=show_secrets)

    def query(
        self,
        query: Query,
        offsets: Range,
        parameters: Mapping[str, Parameter] | None = None,
        *,
        show_secrets: bool = False,
    ) -> DataFrame:
        """Return the answer to a named query.

        Raises:
            RequestError: INVALID_REQUEST: the query has no such parameter, or a value has another
                type.
            UnknownHistoryError, RequestError: as for `History`.
        """
        chosen = chosen_parameters(query, parameters or {})
        with activated(self.spark):
            if query.compares_states:
                history = self._history(offsets.last, with_origin=True)
                offsets = Range(effect_of(history, offsets.first), offsets.last)
            self._register(query.reads, offsets, query.selection, show_secrets=show_secrets)
            return self.spark.sql(query.sql, args=chosen)

    def sql(self, text: str, offsets: Range, *, show_secrets: bool = False) -> DataFrame:
        """Return the answer to the caller's SQL query over the views.

        The text is untrusted: it is checked (sql_check.py) before Spark resolves or runs any of it.
        Only the views that the query refers to are created, because each part of the state costs
        another scan.

        Raises:
            RequestError: INVALID_REQUEST: the query would do more than read the views.
            UnavailableError: the session is one of Spark Connect, and this machine cannot check the
                query.
            ParseException, AnalysisException: Spark cannot parse or resolve the query.
        """
        with activated(self.spark):
            plan = parse_query(self.spark, text)
            if is_show_tables(plan):
                return self.spark.sql(_SHOW_TABLES)
            reads = check_parsed(plan, VIEWS)
            register = partial(
                self._register, show_secrets=show_secrets, is_stored=reads.is_repeated
            )
            if is_remote(self.spark):
                check_server_functions(self.spark)
                register(reads.views, offsets)
                return self.spark.sql(text)
            register(reads.views - {LOG_VIEW}, offsets)
            if LOG_VIEW in reads.views:
                needed = self._needed(plan, offsets)
                register({LOG_VIEW}, needed)
            frame = as_frame(self.spark, plan)
            check_analyzed(frame)
            return frame

    def _needed(self, plan: JavaObject, offsets: Range) -> Range:
        """Return the range of offsets that a query can read, so that other segments stay closed."""
        segments = self.files.in_range(offsets.first, offsets.last + 1)
        if len(segments) < 2:
            return offsets
        # The plan is the same whichever segments are read; one is enough to make it.
        probe = dataclasses.replace(self.files, segments=tuple(segments[:1]))
        view = log_view(self.spark, probe, offsets.first, offsets.last + 1)
        view.createOrReplaceTempView(LOG_VIEW)
        frame = as_frame(self.spark, plan)
        check_analyzed(frame)
        bounds = bounds_of(frame._jdf.queryExecution().optimizedPlan())
        start, end = self.files.offsets_of_times(bounds.from_ms, bounds.to_ms)
        first = max(offsets.first, bounds.first, start)
        return Range(first, max(first - 1, min(offsets.last, bounds.last, end - 1)))

    def _register(
        self,
        names: Iterable[str],
        offsets: Range,
        selection: Selection = EVERYTHING,
        *,
        show_secrets: bool = False,
        is_stored: bool = False,
    ) -> None:
        for name in sorted(names):
            view = self.view(name, offsets, selection=selection, show_secrets=show_secrets)
            if is_stored and self._is_of_tasks(name, offsets):
                # A shuffle stores the rows of views that are read several times.
                view = view.repartition("id")
            view.createOrReplaceTempView(name)

    def _is_of_tasks(self, name: str, offsets: Range) -> bool:
        """True if several tasks compute the rows of a view, unless they are kept."""
        if name not in _OF_TASKS or (self._keep and name in _KEPT):
            return False
        return not self._history(offsets.last, with_origin=True).is_one_task

    def _relation(
        self, name: str, offsets: Range, selection: Selection, *, show_secrets: bool
    ) -> DataFrame:
        """Return the changes or changed objects in a range."""
        history = self._history(offsets.last, with_origin=True)
        if not self._keep:
            return relation(
                history, name, offsets.first, selection=selection, show_secrets=show_secrets
            )
        # All of them, for the other queries.
        key = (name, offsets.last, show_secrets)
        if key not in self._relations:
            every = relation(history, name, show_secrets=show_secrets)
            self._relations[key] = self._kept(every)
        return self._relations[key].where(f"offset >= {offsets.first}")

    def _kept(self, frame: DataFrame) -> DataFrame:
        """Compute the rows of a frame once, and return a frame that reads the stored rows.

        `cache` is not used: a cached frame keeps its plan, which Spark compares again for each
        query over the frame. For the changes, this comparison takes longer than the queries
        themselves.
        """
        with activated(self.spark):
            kept = frame.localCheckpoint()
        if not is_remote(self.spark):
            self._cached.callback(kept._jdf.queryExecution().analyzed().rdd().unpersist, False)
        return kept

    def _history(self, at: int, *, with_origin: bool) -> History:
        key = (at, with_origin)
        if key not in self._histories:
            columns = COLUMNS if with_origin else ()
            history = History(self.spark, self.files, at, columns=columns)
            self._histories[key] = self._cached.enter_context(history)
        return self._histories[key]

    def _found_after_gap(self, *, show_secrets: bool) -> DataFrame:
        found = []
        for number, (gap, *sides) in enumerate(crossings(self.files)):
            before, after = f"net_before_{number}", f"net_after_{number}"
            for name, (files, at) in zip((before, after), sides, strict=True):
                history = self._cached.enter_context(
                    History(self.spark, files, at, columns=COLUMNS)
                )
                state = relation(history, "net_changes", 0, show_secrets=True)
                state.createOrReplaceTempView(name)
            found.append((gap.from_offset, before, after))
        return self.spark.sql(found_sql(found, show_secrets=show_secrets))

    def _part_digests(self, at: int) -> DataFrame:
        # VALUES stay in Java; rows of Python would start its workers.
        return self.spark.sql(part_digests_sql(sums(self._history(at, with_origin=False))))

    def _period(self, offsets: Range) -> DataFrame:
        schema = projected_schema({"offset", "timestamp"}, {"NoOpRunRecord"})
        rows = read_around(self.spark, self.files, (offsets.first, offsets.last), schema)
        return rows.selectExpr(
            f"{offsets.first}L AS first_offset",
            f"{_time_at(offsets.first)} AS first_time",
            f"{_time_at(offsets.last)} AS last_time",
        )


def _time_at(offset: int) -> str:
    # A run of NoOps stands for several offsets, so the record may begin before the one looked for.
    # Only the first and the last time of a run are kept.
    run = "payload.member_NoOpRunRecord"
    time = f"if({offset} = offset + {run}.count - 1, {run}.last_timestamp, timestamp)"
    return f"timestamp_millis(max_by({time}, offset) FILTER (WHERE offset <= {offset}))"


_SHOW_TABLES = "VALUES {} AS tables(view, about)".format(
    ", ".join(f"('{name}', '{about}')" for name, about in sorted(VIEWS_ABOUT.items()))
)

_KEPT = frozenset({"changes", "changed_objects", "all_changes"})
_OF_TASKS = _KEPT | RELATIONS.keys() | {"partition_outages", "partition_states"}
_OF_TASKS -= {"changes_by_principal"}  # few rows, without an id
