"""Chooses the engine of an audit: DuckDB in this process, or Spark."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from api.cli.options.parameters import bad_parameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metadata_log.reader.log_reader import LogReader
    from replay.audit.queries.asking import Range
    from replay.audit.queries.query import Parameter, Query

_CLUSTER = ("MASTER", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT", "SPARK_CONNECT_MODE_ENABLED")
"""Environment variables that name a cluster or server of Spark."""

_OF_SPARK = ("sql", "shell", "export")
"""Subcommands that use Spark by default: `sql` and `shell` take SQL in Spark's dialect."""


class Engine(StrEnum):
    """The engine that answers the queries of an audit."""

    SPARK = "spark"
    DUCKDB = "duckdb"


ENGINES = tuple(Engine)
"""The engines that answer each named query and `audit sql`."""


class Audited(Protocol):
    """A log that is open in an engine; an answer is a data frame or an Arrow table."""

    def query(
        self,
        query: "Query",
        offsets: "Range",
        parameters: "Mapping[str, Parameter] | None" = None,
        *,
        show_secrets: bool = False,
    ) -> object:
        """Return the answer to a named query."""

    def sql(self, text: str, offsets: "Range", *, show_secrets: bool = False) -> object:
        """Return the answer to the caller's SQL."""


def chosen_engine(asked: Engine | None, names: Sequence[str], reader: "LogReader") -> Engine:
    """Return the requested engine; by default, DuckDB for named queries about a small log.

    Spark answers if the log is large, if the environment names a cluster or a server of Spark, or
    if DuckDB is not installed.
    """
    from replay.audit.session import is_small

    if asked is not None:
        return asked
    if names[0] in _OF_SPARK or any(os.environ.get(name) for name in _CLUSTER):
        return Engine.SPARK
    if find_spec("duckdb") is None:
        return Engine.SPARK
    return Engine.DUCKDB if is_small(reader) or find_spec("pyspark") is None else Engine.SPARK


def check_exports(engine: Engine | None) -> None:
    """Refuse an engine other than Spark for `audit export`."""
    if engine is Engine.DUCKDB:
        raise bad_parameter("`audit export` runs in Spark only: leave out --engine")


@contextmanager
def opened(reader: "LogReader", engine: Engine, *, keep: bool) -> Iterator[Audited]:
    """Open a log in an engine.

    Args:
        keep: True if several queries will be run.

    Raises:
        UnavailableError: the engine is not installed, or Spark fails.
        CorruptLogError: the log is damaged.
    """
    if engine is Engine.DUCKDB:
        from replay.audit.committed_files import readable_files
        from replay.audit.duck.engine import DuckAudit

        files = readable_files(reader, None, lambda path, size: None)
        with DuckAudit(files, keep=keep) as local:
            yield local
        return
    from api.cli.audit.session import local_time_is_utc, spark_and_files

    with spark_and_files(reader) as (spark, files), local_time_is_utc():
        from replay.audit.audit import Audit

        with Audit(spark, files, keep=keep) as audit:
            yield audit
