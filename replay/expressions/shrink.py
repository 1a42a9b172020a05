"""Shrink: finds the smallest history after which the value of an expression still flips.

Uses delta debugging (ddmin's complements): leave out halves of the history, then quarters, and so
on, first by batches, then by records, and keep each reduced history in which the expression still
flips. A record that contradicts the state, because it needs a record that was left out, is left out
as well.

Each pass proceeds from the end to the beginning. So a candidate can start from the stored image
before the part that it leaves out, and only the rest is replayed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from metadata_log.format.batch import Batch
from records.envelope import Envelope
from records.errors import ContradictionError, RequestError
from replay.expressions.bisect import holds
from replay.expressions.changed_tokens import touched
from replay.expressions.expression import Expression, IncrementalEvaluator
from replay.expressions.values import Token
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.image.records import image_records
from replay.time_travel.effects import WITHOUT_EFFECT
from replay.transactions import Transactions, rows_within

BASE = -1
"""The `unit` of rows that belong to the state before the range."""

# One image is kept for each part of a pass.
_PARTS_MAX = 20_000


class Atom(msgspec.Struct, frozen=True, gc=False):
    """Rows that the search keeps or leaves out together.

    `unit` is the last offset of their batch or transaction, whose rows take effect together; BASE
    for rows of the state before the range.
    """

    unit: int
    rows: tuple[Envelope, ...]


class Shrunk(msgspec.Struct, frozen=True, kw_only=True):
    """A history whose last batch flips an expression.

    Attributes:
        units: The remaining rows, by batch.
        is_minimal: True if leaving out any single further record prevents the flip.
        tried: Number of histories that were replayed.
    """

    units: tuple[Atom, ...]
    is_minimal: bool
    tried: int

    @property
    def count(self) -> int:
        """Number of remaining records."""
        return count_of(self.units)


def atoms_of(start: MetadataImage, batches: Iterable[Batch], end_offset: int) -> Iterator[Atom]:
    """Yield the records that recreate an image, then the records of `batches`, all as atoms.

    Records that change nothing are left out.

    Raises:
        ContradictionError: a misplaced marker of a transaction.
    """
    if base := tuple(_base_rows(start)):
        yield Atom(BASE, base)
    first = start.provenance.next_offset
    transactions, held = Transactions(), list[Envelope]()
    for batch in batches:
        rows = transactions.effective(rows_within(batch, first, end_offset))
        held += [row for row in rows if type(row.payload) not in WITHOUT_EFFECT]
        if held and transactions.begin_offset is None and batch.end_offset <= end_offset:
            yield Atom(batch.end_offset - 1, tuple(held))
            held = []


def _base_rows(image: MetadataImage) -> Iterator[Envelope]:
    where = image.provenance
    if where.offset is None:
        return
    for record, version in image_records(image):
        yield Envelope(
            offset=where.offset,
            leader_epoch=where.leader_epoch,
            timestamp=where.timestamp,
            batch_offset=where.offset,
            record_version=version,
            payload=record,
        )


def up_to_flip(
    atoms: Iterable[Atom], expression: Expression, *, breaks: bool = False
) -> list[Atom] | None:
    """Return the history up to the point where an expression first begins to hold, or None.

    Args:
        breaks: Search for the point where the expression ceases to hold instead.

    Raises:
        RequestError: INVALID_REQUEST, the types of the expression do not fit, or it takes too long.
    """
    return _Run(expression, not breaks).until_flip(atoms)


def shrink(
    atoms: Sequence[Atom],
    expression: Expression,
    *,
    breaks: bool = False,
    records_max: int,
    progress: Callable[[int], None] | None = None,
) -> Shrunk:
    """Return the smallest history found in which an expression still flips.

    Deterministic: the same history gives the same result.

    Args:
        atoms: The history to shrink; ends with the flip, as returned by `up_to_flip`.
        records_max: Stop when more records than this have been replayed; a smaller history may then
            exist.
        progress: Called with the number of records left out so far.
    """
    search = _Search(atoms, expression, not breaks, records_max, progress)
    is_minimal = search.minimize()
    if is_minimal:
        search.split()
        is_minimal = search.minimize()
    units = [
        Atom(unit, tuple([row for atom in of_unit for row in atom.rows]))
        for unit, of_unit in groupby(search.atoms, key=_unit)
    ]
    return Shrunk(units=tuple(units), is_minimal=is_minimal, tried=search.tried)


def count_of(atoms: Iterable[Atom]) -> int:
    """Return the number of records in atoms."""
    return sum(len(atom.rows) for atom in atoms)


class _State(msgspec.Struct, frozen=True):
    """The state of a replay: an image, and whether the expression can flip.

    `is_ready` is true if the expression has already had the opposite of the wanted value; only then
    can it flip.
    """

    image: MetadataImage
    is_ready: bool


class _Stopped(Exception):
    """Raised when the maximum number of records has been replayed."""


class _Search:
    """Search for a smaller history; `atoms` is the smallest so far and ends with the flip."""

    def __init__(
        self,
        atoms: Sequence[Atom],
        expression: Expression,
        wanted: bool,
        records_max: int,
        progress: Callable[[int], None] | None,
    ) -> None:
        self.atoms = list(atoms)
        self.tried = 0
        self._expression = expression
        self._wanted = wanted
        self._left = records_max
        self._gone = 0
        self._progress = progress

    def split(self) -> None:
        """Split the atoms into records, so that later passes leave out records, not batches."""
        self.atoms = [Atom(atom.unit, (row,)) for atom in self.atoms for row in atom.rows]

    def minimize(self) -> bool:
        """Leave out as many atoms as possible; False if the search was stopped early."""
        size = max(len(self.atoms) // 2, 1)
        try:
            while self._pass(size) or size > 1:
                size = max(size // 2, 1)
        except _Stopped:
            return False
        return True

    def _pass(self, size: int) -> bool:
        """Try to leave out each part of `size` atoms, last part first.

        Returns:
            True if any part was left out.
        """
        starts = range(0, len(self.atoms), size)
        if len(starts) > _PARTS_MAX:
            raise _Stopped
        states = self._states(starts)
        is_smaller = False
        for start, (first, state) in zip(reversed(starts), reversed(states), strict=True):
            # A part can begin inside a unit.
            head, rest = self.atoms[first:start], self.atoms[start + size :]
            found = self._tried(state, [*head, *rest])
            if found is not None:
                is_smaller = True
                self._note_gone(count_of(self.atoms[first:]) - count_of(found))
                self.atoms[first:] = found
        return is_smaller

    def _states(self, starts: Sequence[int]) -> list[tuple[int, _State | None]]:
        """Return, for each start index, where its unit begins and the state at that beginning.

        The state is None at the beginning of the first unit.
        """
        wanted, found = set(starts), list[tuple[int, _State | None]]()
        self._spend(count_of(self.atoms))
        run = _Run(self._expression, self._wanted)
        index, state = 0, None
        for _, of_unit in groupby(self.atoms, key=_unit):
            unit = list(of_unit)
            within = range(index, index + len(unit))
            found += [(index, state) for start in within if start in wanted]
            run.replay(unit)
            index, state = index + len(unit), run.state
        return found

    def _tried(self, state: _State | None, atoms: list[Atom]) -> list[Atom] | None:
        """Return the atoms of a candidate up to the flip, None if the expression does not flip."""
        self._spend(count_of(atoms))
        self.tried += 1
        try:
            return _Run(self._expression, self._wanted, state).until_flip(atoms)
        except RequestError:
            return None  # types that do not fit, in a state that never was

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise _Stopped

    def _note_gone(self, count: int) -> None:
        self._gone += count
        if self._progress is not None:
            self._progress(self._gone)


class _Run:
    """One replay: the current image and the value of the expression."""

    def __init__(self, expression: Expression, wanted: bool, state: _State | None = None) -> None:
        """Start from a state; None: from an empty image, and the first unit may be BASE."""
        self._evaluator: IncrementalEvaluator = expression.incremental()
        self._wanted = wanted
        self._image = MetadataImage.EMPTY
        self._is_started = self._is_ready = False
        if state is not None:
            self._image = state.image
            self._start(is_ready=state.is_ready)

    @property
    def state(self) -> _State:
        """The current state."""
        return _State(self._image, self._is_ready)

    def until_flip(self, atoms: Iterable[Atom]) -> list[Atom] | None:
        """Replay atoms; return those up to the flip, without contradicting rows, or None."""
        kept: list[Atom] = []
        for _, of_unit in groupby(atoms, key=_unit):
            found, is_flipped = self.replay(list(of_unit))
            kept += found
            if is_flipped:
                return kept
        return None

    def replay(self, unit: Sequence[Atom]) -> tuple[list[Atom], bool]:
        """Apply the rows of a unit that do not contradict the state.

        Returns:
            The applied rows; and True if the expression now has the wanted value and had the other
            value before.
        """
        if not self._is_started:
            if unit[0].unit == BASE:
                kept, _ = self._applied(unit)
                self._start()
                return kept, False
            self._start()
        kept, tokens = self._applied(unit)
        if self._evaluator.is_touched(tokens):
            self._holds = holds(self._evaluator.start(self._image))
        is_wanted = self._holds is self._wanted
        is_flipped = self._is_ready and is_wanted
        self._is_ready = self._is_ready or not is_wanted
        return kept, is_flipped

    def _start(self, *, is_ready: bool = False) -> None:
        self._is_started = True
        self._holds = holds(self._evaluator.start(self._image))
        self._is_ready = is_ready or self._holds is not self._wanted

    def _applied(self, atoms: Sequence[Atom]) -> tuple[list[Atom], set[Token]]:
        """Apply rows; return those that do not contradict the state, and the tokens they touch."""
        delta = MetadataDelta(self._image)
        try:
            for atom in atoms:
                for row in atom.rows:
                    delta.replay(row)
        except ContradictionError:
            return self._applied_singly(atoms)
        tokens = touched(delta)
        self._image = delta.apply(Provenance())
        return list(atoms), tokens

    def _applied_singly(self, atoms: Sequence[Atom]) -> tuple[list[Atom], set[Token]]:
        """Apply rows one by one, each with its own delta: an error makes a delta unusable."""
        kept, tokens = list[Atom](), set[Token]()
        for atom in atoms:
            rows = []
            for row in atom.rows:
                delta = MetadataDelta(self._image)
                try:
                    delta.replay(row)
                except ContradictionError:
                    continue
                tokens |= touched(delta)
                self._image = delta.apply(Provenance())
                rows.append(row)
            if rows:
                kept.append(Atom(atom.unit, tuple(rows)))
        return kept, tokens


def _unit(atom: Atom) -> int:
    return atom.unit
