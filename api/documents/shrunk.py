"""JSON form of shrunk histories: logs reduced to the records that make an expression flip."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec

from replay.expressions.shrink import BASE, Atom, Shrunk, count_of


class KeptRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record that was kept: its offset in the new log, and in the original log.

    `source_offset` is null for a record that recreates the state before the range.
    """

    offset: int
    source_offset: int | None
    type: str


class ShrunkLog(msgspec.Struct, frozen=True, kw_only=True):
    """A log reduced to the records that make an expression flip.

    `flip` is the offset of the flip in the original log. `records_before` is the number of records
    in the original log from the start of the range up to the flip. `base_records` is the number of
    records that recreate the state before the range. `tried` is the number of histories that were
    replayed. `minimal`: the expression no longer flips if any single record is left out.
    """

    expression: str
    breaks: bool
    flip: int
    records_before: int
    base_records: int
    records: int
    batches: int
    minimal: bool
    tried: int
    log: str
    test: str
    kept: tuple[KeptRecord, ...]

    @classmethod
    def of(
        cls,
        found: Shrunk,
        expression: str,
        *,
        breaks: bool,
        first: int,
        history: Sequence[Atom],
        log: Path,
        test: Path,
        offsets: Sequence[int],
    ) -> Self:
        """Return the JSON form of a shrunk log.

        Args:
            first: First offset of the range that was searched for the flip.
            history: The records up to the flip, as `up_to_flip` returns them.
            offsets: The offsets of the kept records in the new log.
        """
        flip = history[-1].unit
        rows = [(unit, row) for unit in found.units for row in unit.rows]
        kept = [
            KeptRecord(
                offset=offset,
                source_offset=None if unit.unit == BASE else row.offset,
                type=type(row.payload).__name__,
            )
            for offset, (unit, row) in zip(offsets, rows, strict=True)
        ]
        return cls(
            expression=expression,
            breaks=breaks,
            flip=flip,
            records_before=flip - first + 1,
            base_records=count_of([atom for atom in history if atom.unit == BASE]),
            records=found.count,
            batches=len(found.units),
            minimal=found.is_minimal,
            tried=found.tried,
            log=str(log),
            test=str(test),
            kept=tuple(kept),
        )


class NothingShrunk(msgspec.Struct, frozen=True, kw_only=True):
    """The answer if an expression never flips in the requested direction."""

    expression: str
    breaks: bool
    flip: None = None
