"""A fork: the past re-decided from some offset on, with changes, and compared with the log.

The controller's own code makes every decision of the log again, on the fork's state, with the
logged request and random seed, at the logged offset and time. Timers do not run: decisions of
timers and brokers are taken from the log as observations. Nothing is written.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from controller.asked.asked import ACTIVATE, settings_of
from controller.decisions.context.context import Settings
from controller.decisions.levels import record_version
from controller.descriptions.affected import Affected
from controller.forks.branch import Applied
from controller.forks.changes import Added, Changes, Replaced
from controller.forks.commands import Commands
from controller.forks.comparison import Comparison
from controller.forks.inference import FACTS, in_recorded_order, inferred_steps
from controller.forks.recorded import whole_decisions
from controller.forks.redecisions import different_record
from controller.forks.requests import bound_again, bound_to
from controller.forks.substitution import with_epochs_of_fork, with_ids_of_log
from controller.forks.trigger import Decided, Named, Step, Trigger
from controller.invariants.checks import Violation, check_affected
from controller.pipeline.latest import State
from controller.wire import from_wire
from metadata_log.format.batch import Batch
from records.command_names import logged_name
from records.control import NoOpRecord
from records.envelope import Asked, Envelope
from records.errors import ContradictionError, RequestError
from replay.image.metadata import MetadataImage
from replay.image.provenance import has_unknown_tags

Rows = Sequence[Envelope]


class Remark(msgspec.Struct, frozen=True):
    """A remark about a decision, at the offset of its first record.

    `code` is the error's code if the decision was refused, else None.
    """

    offset: int
    text: str
    code: str | None = None


class Fork:
    """Two branches from one state: the past as logged, and the past with changes.

    Attributes:
        past: The state according to the log.
        state: The state in the fork.
        comparison: The differences between the two.
        changed, undecidable, substituted, refused: Remarks about single decisions.
        counts: How many decisions were made from their logged request (`asked`) or from an
            inferred trigger (`inferred`), how many were copied from the log (`as recorded`), and
            how many were added or replaced (`changed`).
    """

    def __init__(
        self,
        image: MetadataImage,
        start: int,
        changes: Changes,
        commands: Commands,
        settings: Settings,
        *,
        copying: bool = True,
    ) -> None:
        """Start with the image before an offset.

        Args:
            settings: The settings of the log's writer at that offset.
            copying: Copy the rows before the first change from the log instead of re-deciding them.
        """
        self.past = self.state = State.of(image)
        self.comparison = Comparison(start)
        self.changed: list[Remark] = []
        self.undecidable: list[Remark] = []
        self.substituted: list[Remark] = []
        self.refused: list[Remark] = []
        self.counts: Counter[str] = Counter()
        self._changes = changes
        self._commands = commands
        self._settings = settings
        self._copying = copying
        # The last rows applied to the past.
        self._logged: Applied | None = None
        self._added = sorted([(_after(each, start), each) for each in changes.added], key=_first)

    def steps(self, batches: Iterable[Batch]) -> Iterator[tuple[Step, Rows]]:
        """Re-decide the batches, and decide the added commands in between.

        Yields each step with the rows that it writes in the fork.

        Raises:
            RequestError: a change does not fit the record or command that it is for.
            CorruptLogError, ContradictionError: the log is damaged, or contradicts itself.
        """
        for rows, is_joined in whole_decisions(batches):
            yield from self._add_until(rows[0].offset)
            for step in self._steps_in(rows, is_joined):
                yield step, self._step(step)
        yield from self._add_until(None)

    def _steps_in(self, rows: Rows, is_joined: bool) -> Iterator[Step]:
        asked = rows[0].asked
        if is_joined:
            is_fact = all(type(row.payload) in FACTS for row in rows)
            problem = None if is_fact else "the transaction has several decisions"
            yield Step(rows=tuple(rows), problem=problem)
        elif asked is None:
            yield from inferred_steps(rows, lambda: self.past, self._settings)
        elif asked.command == ACTIVATE:
            self._settings = settings_of(asked, self._settings.cluster_id)
            yield Step(rows=tuple(rows))
        else:
            yield self._asked_step(asked, tuple(rows))

    def _asked_step(self, asked: Asked, rows: tuple[Envelope, ...]) -> Step:
        try:
            bound = bound_again(asked, rows, self._commands)
        except RequestError as error:
            return Step(rows=rows, problem=str(error))
        return Step(rows=rows, trigger=Trigger(bound, _text(asked, bound.request, rows), asked))

    def _step(self, step: Step) -> Rows:
        before, fork_before = self.past, self.state
        self._logged = Applied(before, step.rows)
        self.past = self._logged.after
        dropped = self._changes.drops(step, before.image, self.past.image)
        rows = () if dropped else self._changes.rows_of(step)
        instead = None if dropped else self._changes.instead_of(step)
        if rows is not step.rows or instead is not None:
            self._note_change(step, dropped or not rows, instead)
        elif self._copying and fork_before is before:
            self.state = self.past
            return step.rows
        if instead is not None:
            trigger = self._trigger(instead.command, instead.request)
            written = self._decided(Step(rows=step.rows, trigger=trigger), trigger)
        elif rows is not step.rows:
            written = self._as_recorded(step, rows)
        else:
            written = self._again(step, before)
        self.comparison.step(
            step.rows[-1].offset,
            step.rows[-1].timestamp,
            (*step.rows, *written),
            (before.image, fork_before.image),
            self.past.image,
            self.state.image,
        )
        return written

    def _note_change(self, step: Step, dropped: bool, instead: Replaced | None) -> None:
        first, last = step.rows[0].offset, step.rows[-1].offset
        place = f"offset {first}" if first == last else f"offsets {first} to {last}"
        what = "dropped" if dropped else "edited" if instead is None else instead.command
        of = ":" if instead is None else " instead of"
        self.changed.append(Remark(first, f"{place} {what}{of} {step.text}"))

    def _again(self, step: Step, before: State) -> Rows:
        """Re-decide a step in the fork, and apply and return the rows that it writes."""
        trigger = step.trigger
        if trigger is None:
            if step.problem is not None:
                self._note_undecidable(step, step.problem)
            return self._as_recorded(step, step.rows)
        known: tuple[Named, ...] = ()
        if trigger.asked is not None:
            past = trigger.decided(step.rows, before, self._settings)
            if past.failure or different_record(past.records, past.context, step.rows):
                self._note_undecidable(step, "this release would have decided otherwise, too")
                return self._as_recorded(step, step.rows)
            known = past.refusals
        kind = "inferred" if trigger.asked is None else "asked"
        return self._decided(step, self._with_epochs(step, trigger, before), known, kind)

    def _trigger(self, name: str, raw: bytes) -> Trigger:
        """Return the trigger for a command given by the changes, not by the log.

        Raises:
            RequestError: INVALID_REQUEST, there is no such command, or its request is not valid.
        """
        command = self._commands.all.get(logged_name(name))
        if command is None:
            raise RequestError("INVALID_REQUEST", f"there is no command {name!r}")
        return Trigger(bound_to(command, from_wire(raw, command.request)), name)

    def _with_epochs(self, step: Step, trigger: Trigger, before: State) -> Trigger:
        bound, texts = with_epochs_of_fork(trigger.bound, before.image, self.state.image)
        self.substituted += [Remark(step.rows[0].offset, text) for text in texts]
        return replace(trigger, bound=bound)

    def _decided(
        self, step: Step, trigger: Trigger, known: tuple[Named, ...] = (), kind: str = "changed"
    ) -> Rows:
        """Decide on the fork's state, count the decision, and apply and return its rows.

        Refusals are added to `refused`, except those in `known`, which also happened in the past.
        """
        decided = trigger.decided(step.rows, self.state, self._settings)
        if decided.failure is not None:
            self._note_undecidable(step, decided.failure)
            return self._as_recorded(step, step.rows)
        self._note_refusals(step, decided.refusals, known)
        self.counts[kind] += 1
        records = with_ids_of_log(decided.records, step.rows)
        if trigger.asked is None:
            records = tuple(in_recorded_order(records, step.rows))
        decided = replace(decided, records=records)
        return self._applied(step, _rows(decided, step.rows))

    def _note_refusals(
        self, step: Step, refusals: tuple[Named, ...], known: tuple[Named, ...]
    ) -> None:
        expected = {(name, refusal.code) for name, refusal in known}
        for name, refusal in refusals:
            if (name, refusal.code) not in expected:
                text = ": ".join(filter(None, (step.text, name, refusal.message)))
                self.refused.append(Remark(step.rows[0].offset, text, refusal.code))

    def _note_undecidable(self, step: Step, why: str) -> None:
        if not self.comparison.is_equal:
            self.undecidable.append(Remark(step.rows[0].offset, f"{step.text}: {why}"))

    def _as_recorded(self, step: Step, rows: Rows) -> Rows:
        """Apply rows as logged, unless they contradict the fork or break an invariant there."""
        if not rows:
            return ()
        self.counts["as recorded"] += 1
        affected = Affected()
        affected.add([row.payload for row in rows])
        known = {*_violations(self.state, affected), *_violations(self.past, affected)}
        fork_before = self.state
        written = self._applied(step, rows)
        broken = [each for each in _violations(self.state, affected) if each not in known]
        if not broken:
            return written
        self.state = fork_before
        text = f"{step.text}, as recorded, would break an invariant: {broken[0]}"
        self.refused.append(Remark(step.rows[0].offset, text, "INVALID_RECORD"))
        return ()

    def _applied(self, step: Step, rows: Rows) -> Rows:
        if not rows:
            return ()
        logged = self._logged
        try:
            if logged is not None and _same(rows, logged.rows):
                self.state = logged.applied_to(self.state)
            else:
                self.state = Applied(self.state, rows).after
        except ContradictionError as error:
            text = f"{step.text}: {error}"
            self.refused.append(Remark(step.rows[0].offset, text, "CONTRADICTION"))
            return ()
        return rows

    def _add_until(self, offset: int | None) -> Iterator[tuple[Step, Rows]]:
        """Decide the added commands that come before an offset; their steps have no rows."""
        while self._added and (offset is None or self._added[0][0] < offset):
            yield self._add(*self._added.pop(0))

    def _add(self, after: int, added: Added) -> tuple[Step, Rows]:
        trigger = self._trigger(added.command, added.request)
        provenance = self.state.image.provenance
        place = Envelope(
            offset=after,
            leader_epoch=provenance.leader_epoch,
            timestamp=provenance.timestamp,
            batch_offset=after,
            record_version=0,
            payload=NoOpRecord(),
        )
        self.changed.append(Remark(after, f"after offset {after}: {added.command} added"))
        before = self.state
        rows = self._decided(Step(rows=(place,), trigger=trigger), trigger)
        images = (self.past.image, before.image)
        past, fork = self.past.image, self.state.image
        self.comparison.step(after, provenance.timestamp, rows, images, past, fork)
        return Step(rows=(), trigger=trigger), rows


def _after(added: Added, start: int) -> int:
    return start - 1 if added.after is None else added.after


def _first(pair: tuple[int, Added]) -> int:
    return pair[0]


def _rows(decided: Decided, recorded: Rows) -> Rows:
    """Return the fork's records as rows, with the offsets that the rows in the log have.

    If the fork has more records than the log, the last ones all get the last logged offset.
    """
    first, last = recorded[0], recorded[-1].offset
    level = decided.context.metadata_version
    return [
        Envelope(
            offset=min(first.offset + index, last),
            leader_epoch=first.leader_epoch,
            timestamp=first.timestamp,
            batch_offset=first.batch_offset,
            record_version=record_version(record, level),
            origin=recorded[-1].origin,
            payload=record,
        )
        for index, record in enumerate(decided.records)
    ]


def _same(rows: Rows, logged: Rows) -> bool:
    """True if rows have the offsets, record versions and payloads of the logged rows."""
    return len(rows) == len(logged) and all(map(_is_same, rows, logged))


def _is_same(row: Envelope, logged: Envelope) -> bool:
    if row is logged:
        return True
    if has_unknown_tags(logged):
        return False
    is_there = (row.offset, row.record_version) == (logged.offset, logged.record_version)
    return is_there and row.payload == logged.payload


def _violations(state: State, affected: Affected) -> Iterator[Violation]:
    return check_affected(state.image, affected)


def _text(asked: Asked, request: Any, rows: Rows) -> str:
    """Return a description of a decision: its command, the brokers concerned, and the reason."""
    affected = Affected()
    affected.add([row.payload for row in rows])
    sender = getattr(request, "broker_id", None)
    ids = affected.broker_ids if sender is None else {sender}
    brokers = ", ".join(f"broker {each}" for each in sorted(ids))
    reason = rows[0].origin.reason if rows[0].origin else None
    return f"{asked.command}{brokers and f', {brokers}'}{f' ({reason})' if reason else ''}"
