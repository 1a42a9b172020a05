"""Alternative ways to compute an image's digest; if two results differ, one of them is wrong."""

from pathlib import Path

from api.cli.source.opened_log import absolute_in
from api.questions.objects import Digest
from api.questions.past import Past
from api.questions.question import Computed
from metadata_log.reader.log_reader import LogReader

WAYS = ("replay", "snapshot", "sql", "spark")
"""Ways to compute a digest; a service supports only the first two."""


def by_sql(log: Path | str, at: str, database: str | None) -> Computed:
    """Compute the digest at a point from only the tables of the SQL history.

    Raises:
        RequestError: HISTORY_NOT_FOUND, there are no tables; OFFSET_OUT_OF_RANGE, the tables do not
            reach the offset, or Kafka may still replace the records (mirror).
    """
    from api.questions.parts import located, opened, part_reaching
    from replay.sql_history.store import HistoryStore, default_url
    from replay.sql_sync import check_confirmed, check_same_log

    with LogReader.open(log) as reader:
        newest = opened(reader, lambda of, before: Past(of, absolute=absolute_in, before=before))
        past, offset = located(newest, at)
        with HistoryStore.open(database or default_url(reader.directory)) as store:
            found = store.position()
            if found is not None:
                source = part_reaching(newest, found.confirmed_proof.end_offset).reader
                check_confirmed(source, check_same_log(source, store), offset)
            answer = Digest(digest=store.digest(offset), by="sql")
    return Computed(answer=answer, about=lambda: past.about(offset))


def by_spark(log: Path | str, at: str) -> Computed:
    """Compute the digest of the state at a point with only Spark."""
    from api.cli.audit.session import spark_and_files

    with LogReader.open(log) as reader:
        past = Past(reader, absolute=absolute_in)
        offset = past.offset(at)
        with spark_and_files(reader) as (spark, files):
            from replay.audit.digest import audit_digest
            from replay.audit.history import History
            from replay.audit.session import separate_session

            with separate_session(spark) as own, History(own, files, offset) as history:
                answer = Digest(digest=audit_digest(history), by="spark")
    return Computed(answer=answer, about=lambda: past.about(offset))
