"""The audit as a library: `from replay import audit`, then `audit.open("LOG")`."""

from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Self

from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError
from replay.audit.points import Point, last_offset, range_between
from replay.audit.session import copies_folder, is_small, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from replay.audit.export import Exported
    from replay.audit.queries.asking import Range


def open(  # noqa: A001  As gzip.open: always used with its package.
    location: Path | str,
    spark: "SparkSession | None" = None,
    *,
    scratch: Path | str | None = None,
) -> "AuditedLog":
    """Open a log for queries in Spark, as described in docs/audit.md.

    Records that are committed later are not included.

    Args:
        location: A directory, or the URL of an archive, from which only the needed parts are
            fetched.
        spark: The session to use; its views and settings are not changed. By default the active
            session, or if there is none a new one, which is stopped when the log is closed.
        scratch: A folder that Spark's workers see, for copies of files that Spark cannot read in
            place: the segment that is being written, and files of a bucket. By default a temporary
            folder. On a cluster there is no default: without a folder the workers read those files
            by ranges, which is slower.

    Raises:
        RequestError: there is no log.
        CorruptLogError: the log is damaged.
        UnavailableError: Spark or Java is missing, or does not start.
    """
    return AuditedLog(location, spark, scratch=scratch)


class AuditedLog:
    """A log opened in Spark. All answers are DataFrames, valid until the log is closed.

    Their columns have comments, in the schema's metadata (`comment`), except those of `sql`.

    The points `since` and `until` are inclusive; by default they are the ends of the kept history.
    Secrets are replaced by `(redacted)`, unless `show_secrets` is true.
    """

    def __init__(
        self,
        location: Path | str,
        spark: "SparkSession | None" = None,
        *,
        scratch: Path | str | None = None,
    ) -> None:
        """Open a log; the arguments are those of `open`."""
        self._scratch = scratch
        with ExitStack() as opened:
            self._reader = opened.enter_context(LogReader.open(location))
            if spark is None:
                spark = opened.enter_context(session(quick=is_small(self._reader)))
            # PySpark is imported as late as possible: `session` says what to do without it.
            from replay.audit.audit import Audit
            from replay.audit.committed_files import readable_files

            copies = opened.enter_context(copies_folder(spark, scratch))
            files = readable_files(self._reader, copies, lambda path, size: None)
            self._audit = opened.enter_context(Audit(spark, files, keep=True))
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the cached frames, and stop the Spark session if `open` started it."""
        self._opened.close()

    def log(
        self,
        since: Point | None = None,
        until: Point | None = None,
        *,
        show_secrets: bool = False,
    ) -> "DataFrame":
        """Return the records, with the columns of the view `log`."""
        return self._view("log", self._range(since, until), show_secrets=show_secrets)

    def changes(
        self,
        since: Point | None = None,
        until: Point | None = None,
        *,
        kind: str | None = None,
        name: str | None = None,
        principal: str | None = None,
        command: str | None = None,
        show_secrets: bool = False,
    ) -> "DataFrame":
        """Return the effective changes (`relations.SCHEMA`) that match all given values.

        Changes of aborted transactions are included, with `in_effect` false. To sort all of them,
        call `.repartition("id")` before the sort: Spark samples what it sorts, and would compute
        the changes twice.

        Args:
            kind: Part of the state, such as `configs`.
            name: The object's name, such as `topic/orders`.
            principal: The principal that requested the change.
            command: The command that was requested.
        """
        frame = self._view("changes", self._range(since, until), show_secrets=show_secrets)
        wanted = {"kind": kind, "name": name, "principal": principal, "command": command}
        for column, value in wanted.items():
            if value is not None:
                frame = frame.where(frame[column] == value)
        return frame

    def state(
        self, part: str, at: Point | None = None, *, show_secrets: bool = False
    ) -> "DataFrame":
        """Return the objects of a part of the state, by default as of the log's end.

        Raises:
            RequestError: INVALID_REQUEST: there is no part of this name.
        """
        from replay.audit.part_fields import PARTS

        if part not in PARTS:
            known = ", ".join(sorted(PARTS))
            raise RequestError(
                "INVALID_REQUEST", f"{part!r} is no part of the state; write {known}"
            )
        return self._view(part, self._range(None, at), show_secrets=show_secrets)

    def diff(self, a: Point, b: Point | None = None) -> "DataFrame":
        """Return the fields that differ between the states at `a` and at `b` (default: the end).

        Returns:
            The columns of the query `diff`.
        """
        return self.query("diff", last_offset(self._reader, a) + 1, b)

    def query(
        self,
        name: str,
        since: Point | None = None,
        until: Point | None = None,
        **parameters: int | str,
    ) -> "DataFrame":
        """Return the answer to a named query; `QUERIES[name].columns` describes the columns.

        Raises:
            RequestError: INVALID_REQUEST: there is no such query, or it has no such parameter.
        """
        from replay.audit.commented import commented
        from replay.audit.comments import comments_of_query
        from replay.audit.queries.asking import named_query

        query = named_query(name)
        answer = self._audit.query(query, self._range(since, until), parameters)
        return commented(answer, comments_of_query(query))

    def sql(
        self,
        text: str,
        since: Point | None = None,
        until: Point | None = None,
        *,
        show_secrets: bool = False,
    ) -> "DataFrame":
        """Return the answer to an SQL query, which may only read the views.

        Raises:
            RequestError: INVALID_REQUEST: the query would do more than read the views.
            UnavailableError: the session is one of Spark Connect, and this machine has no Java, or
                the server runs another release of Spark.
            ParseException, AnalysisException: Spark cannot parse or resolve the query.
        """
        return self._audit.sql(text, self._range(since, until), show_secrets=show_secrets)

    def export(
        self, to: Path | str, *, show_secrets: bool = False, include_unconfirmed: bool = False
    ) -> "Exported":
        """Export the changes that are not yet in a location, as Parquet; see docs/export.md.

        Args:
            to: A directory, or `s3://bucket/prefix`. On a cluster, Spark's workers must see the
                directory too, and for a bucket the log must have been opened with `scratch`.
            include_unconfirmed: Also write what Kafka may still replace in a mirror, with
                `confirmed` false, until the next run.

        Raises:
            RequestError: WRONG_LOG: the location holds changes of another log.
            UnknownHistoryError: the log no longer has the offsets that follow the exported ones.
            UnavailableError: another process is exporting to the location, or the disk is full.
        """
        from replay.audit.export import export_changes

        files = self._audit.spark, self._audit.files
        return export_changes(
            self._reader,
            str(to),
            lambda: nullcontext(files),
            show_secrets=show_secrets,
            include_unconfirmed=include_unconfirmed,
            scratch=self._scratch,
        )

    def _view(self, name: str, offsets: "Range", *, show_secrets: bool) -> "DataFrame":
        from replay.audit.commented import commented
        from replay.audit.comments import comments_of

        found = self._audit.view(name, offsets, show_secrets=show_secrets)
        return commented(found, comments_of(name))

    def _range(self, since: Point | None, until: Point | None) -> "Range":
        return range_between(self._reader, since, until)
