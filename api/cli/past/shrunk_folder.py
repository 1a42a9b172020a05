"""The folder that `shrink` creates: a log, and a test that replays it."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError
from replay.care.saved_rows import save_new
from replay.expressions.bisect import Flip
from replay.expressions.expression import Expression
from replay.expressions.shrink import Shrunk
from replay.time_travel.affected import AFFECTED
from replay.timeline import Timeline

LOG, TEST = "log", "test_shrunk.py"

_TEXT = '''\
"""Made by `metalog shrink`: a history with whose last batch an expression {flips} to hold."""

from pathlib import Path

from metadata_log import LogReader
from replay import Expression, Timeline

LOG = Path(__file__).with_name("{log}")
EXPRESSION = {expression!r}


def test_expression_{flips}_to_hold_with_the_last_batch() -> None:
    with LogReader.open(LOG) as log:
        flips = Timeline.of(log).flips(Expression(EXPRESSION), 0, log.end_offset)
        last_offset = log.end_offset - 1
    assert flips.found[-1].offset == last_offset
    assert flips.found[-1].value {is_} {value!r}
'''


@contextmanager
def new_folder(path: Path) -> Iterator[None]:
    """Create a folder; remove it again if the body raises or leaves it empty.

    Raises:
        RequestError: INVALID_REQUEST, the folder exists already.
    """
    try:
        path.mkdir()
    except FileExistsError:
        raise RequestError("INVALID_REQUEST", f"{path} exists already; name a new one") from None
    try:
        yield
    except BaseException:
        shutil.rmtree(path)
        raise
    if not any(path.iterdir()):
        path.rmdir()


def save_shrunk(
    folder: Path, cluster_id: str, found: Shrunk, expression: Expression, *, breaks: bool
) -> list[int]:
    """Write the log and the test; return the offsets of the log's records that affect objects.

    Raises:
        UnavailableError: the disk is full.
    """
    asyncio.run(save_new(folder / LOG, cluster_id, [unit.rows for unit in found.units]))
    with LogReader.open(folder / LOG) as reader:
        flips = Timeline.of(reader).flips(expression, 0, reader.end_offset)
        last = flips.found[-1]
        assert last.offset == reader.end_offset - 1, "the saved log flips as the one replayed"
        rows = [row for batch in reader.batches() for row in batch.rows]
    (folder / TEST).write_text(_test(expression, last, breaks=breaks))
    return [row.offset for row in rows if type(row.payload) in AFFECTED]


def _test(expression: Expression, last: Flip, *, breaks: bool) -> str:
    return _TEXT.format(
        flips="ceases" if breaks else "begins",
        log=LOG,
        expression=expression.text,
        is_="is" if last.value is None or isinstance(last.value, bool) else "==",
        value=last.value,
    )
