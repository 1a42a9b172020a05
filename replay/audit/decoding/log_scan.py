"""Reads the records of a log in Spark's Python workers."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from sys import modules
from typing import Any, NamedTuple

import pyarrow
import pyarrow.compute as pc

from records.errors import CorruptLogError
from replay.audit.decoding.blocks import File, Range, Segment, ranges
from replay.audit.decoding.columns import Wanted
from replay.audit.settings import TASK_BYTES

POSITION = "position"
"""The column that has the record's offset."""

# Below, fastavro is done sooner than the import of numba.
_COMPILED_BYTES = 2 * 1024 * 1024


class Task(NamedTuple):
    """The ranges that one task reads, in order.

    Attributes:
        position: The position to give to every record of the task; None: each record's offset is
            its position.
    """

    ranges: tuple[Range, ...]
    position: int | None = None


@dataclass(frozen=True)
class LogScan:
    """The tasks that read the records of a log, and the description of what they decode.

    Attributes:
        start, end: Only records at offsets in [start, end) are returned; ignored by tasks that have
            a `position`.
    """

    tasks: tuple[Task, ...]
    wanted: Wanted
    start: int
    end: int

    def batches(self, number: int) -> Iterator[pyarrow.RecordBatch]:
        """Yield the records of task `number`, in order.

        Raises:
            CorruptLogError: a file is damaged; names file and byte.
        """
        # Arrow's own allocator returns memory to the system at once; to get it back again and again
        # takes a fifth of the time.
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())
        task = self.tasks[number]
        decoders: dict[bytes, Any] = {}
        for each in task.ranges:
            segment = Segment(each)
            if segment.schema not in decoders:
                decoders[segment.schema] = self._decoder(segment.schema, each, task)
            for batch in decoders[segment.schema].batches(segment):
                yield self._placed(batch, task.position)

    def _decoder(self, schema: bytes, part: Range, task: Task) -> Any:
        try:
            return _decoders(task).Decoder(json.loads(schema), self.wanted)
        except (ValueError, CorruptLogError) as error:
            raise CorruptLogError(f"{part.file[0]} byte 0: {error}") from error

    def _placed(self, batch: pyarrow.RecordBatch, position: int | None) -> pyarrow.RecordBatch:
        if position is not None:
            positions = pyarrow.repeat(pyarrow.scalar(position, pyarrow.int64()), batch.num_rows)
            return batch.set_column(batch.schema.get_field_index(POSITION), POSITION, positions)
        offsets = batch[POSITION]
        inside = pc.and_(pc.greater_equal(offsets, self.start), pc.less(offsets, self.end))
        return batch if pc.all(inside).as_py() else batch.filter(inside)


def tasks(files: list[File]) -> tuple[Task, ...]:
    """Divide files into tasks; each reads a part of one file, or several small files."""
    found: list[list[Range]] = []
    size = TASK_BYTES
    for part in (part for file in files for part in ranges(file, TASK_BYTES)):
        if size + part.last - part.first > TASK_BYTES:
            found.append([])
            size = 0
        found[-1].append(part)
        size += part.last - part.first
    return tuple(Task(tuple(some)) for some in found)


def _decoders(task: Task) -> Any:
    """Return the module whose `Decoder` reads a task: `compiled`, or `plain` if that is faster.

    `plain` is also used if numba is not installed.
    """
    size = sum(part.last - part.first for part in task.ranges)
    if "numba" in modules or (size >= _COMPILED_BYTES and find_spec("numba") is not None):
        from replay.audit.decoding import compiled

        return compiled
    from replay.audit.decoding import plain

    return plain
