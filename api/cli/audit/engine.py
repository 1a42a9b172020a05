"""Chooses the engine of an audit: DuckDB in this process, or Spark."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING

from api.cli.audit.parts import Audited, AuditedPart, AuditedParts, part_names
from api.cli.options.parameters import bad_parameter

if TYPE_CHECKING:
    from api.questions.parts import Stretch
    from metadata_log.reader.log_reader import LogReader

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


def chosen_engine(asked: Engine | None, names: Sequence[str], *readers: "LogReader") -> Engine:
    """Return the requested engine; by default, DuckDB for named queries about a small log.

    Spark answers if the log is large (a recording: all its parts together), if the environment
    names a cluster or a server of Spark, or if DuckDB is not installed.
    """
    from replay.audit.session import is_small

    if asked is not None:
        return asked
    if names[0] in _OF_SPARK or any(os.environ.get(name) for name in _CLUSTER):
        return Engine.SPARK
    if find_spec("duckdb") is None:
        return Engine.SPARK
    return Engine.DUCKDB if is_small(*readers) or find_spec("pyspark") is None else Engine.SPARK


def check_exports(engine: Engine | None) -> None:
    """Refuse an engine other than Spark for `audit export`."""
    if engine is Engine.DUCKDB:
        raise bad_parameter("`audit export` runs in Spark only: leave out --engine")


@contextmanager
def opened(parts: "Sequence[Stretch]", engine: Engine, *, keep: bool) -> Iterator[AuditedParts]:
    """Open a log, or the parts of a recording, in an engine.

    Args:
        keep: True if several queries will be run.

    Raises:
        UnavailableError: the engine is not installed, or Spark fails.
        CorruptLogError: a log is damaged.
    """
    from replay.audit.queries.asking import Range

    readers = [each.past.reader for each in parts]
    with _audits(readers, engine, keep=keep) as audits:
        ranges = [Range(each.first, each.at) for each in parts]
        yield AuditedParts([*map(AuditedPart, part_names(parts), audits, ranges)])


@contextmanager
def _audits(
    readers: "Sequence[LogReader]", engine: Engine, *, keep: bool
) -> Iterator[list[Audited]]:
    with ExitStack() as stack:
        if engine is Engine.DUCKDB:
            from replay.audit.committed_files import readable_files
            from replay.audit.duck.engine import DuckAudit

            files = [readable_files(each, None, lambda path, size: None) for each in readers]
            yield [stack.enter_context(DuckAudit(each, keep=keep)) for each in files]
            return
        from api.cli.audit.session import local_time_is_utc, spark_and_parts

        spark, files = stack.enter_context(spark_and_parts(*readers))
        stack.enter_context(local_time_is_utc())
        from replay.audit.audit import Audit

        yield [stack.enter_context(Audit(spark, each, keep=keep)) for each in files]
