"""Converts Spark failures to our errors; to locate damage, our own reader inspects the log."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metadata_log.care.findings import Finding
from metadata_log.care.inspection import inspect_log
from metadata_log.files.fs import ByteStore, OsFs
from records.errors import CorruptLogError, UnavailableError

_PYTHONS = re.compile(r"worker has different version: (\S+) than that in driver: ([\d.]+\d)")


@contextmanager
def explained(directory: Path, fs: ByteStore | None = None) -> Iterator[None]:
    """Inside the `with` block, convert failures of Spark to our errors.

    The block must compute over the log. After a failure our own reader inspects the log, because
    Spark names at most the damaged file.

    Raises:
        CorruptLogError: the log is damaged; names file, byte and offset.
        UnavailableError: Spark failed for another reason, or the log's start moved up.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        if pythons := _PYTHONS.search(str(error)):
            raise UnavailableError(_other_python(*pythons.groups())) from error
        inspection = inspect_log(fs or OsFs(), directory)
        if inspection.damage:
            raise CorruptLogError(_damage(directory, inspection.damage)) from error
        raise UnavailableError(
            f"Spark failed: {first_line(error)}; the log is whole. Try again; `metalog --debug` "
            "shows what Spark reports"
        ) from error


def _other_python(workers: str, here: str) -> str:
    return (
        f"Spark's workers run Python {workers}, and this program Python {here}: functions are sent "
        "to the workers as compiled code, so both must be of one minor release. Start the cluster, "
        f"or the Spark Connect server, with PYSPARK_PYTHON set to a Python {here} that has this "
        f"package, or run this program with Python {workers}"
    )


def first_line(error: BaseException) -> str:
    """Return the message of a Spark error, without Java's stack trace."""
    java = getattr(error, "java_exception", None)
    try:
        text = str(java.toString()) if java is not None else str(error)
    except Exception:  # the Java process has ended
        text = str(error)
    lines = text.strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__


def _damage(directory: Path, damage: list[Finding]) -> str:
    first, *others = damage
    where = f"{directory / first.file} byte {first.byte}"
    since = f", from offset {first.from_offset}" if first.from_offset is not None else ""
    more = f" ({len(others)} more: `metalog verify {directory}`)" if others else ""
    return f"{where}: {first.what}{since}{more}; {first.remedy}"
