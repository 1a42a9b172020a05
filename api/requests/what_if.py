"""What if: makes past decisions again with changes, and returns the differences that result."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from api.questions.changes import shown
from api.questions.objects import JoinedPieces, Piece, pieces_of
from api.questions.past import Past
from api.questions.question import Computed, Question
from api.questions.redaction import redact_field, redact_label
from api.requests.commands import RECORDED
from api.requests.what_if_secrets import check_no_secrets
from controller.decisions.context.context import Settings
from controller.forks.changes import Added, Changes, Edited, Replaced, Without
from controller.forks.comparison import Parting
from controller.forks.fork import Fork, Remark
from controller.forks.leaderless import only_leaderless
from controller.forks.recorded import settings_before
from records.command_names import logged_name
from records.envelope import Envelope
from records.errors import RequestError
from replay.care.saved_fork import ForkRows
from replay.time_travel.diff import diff_images
from replay.time_travel.history import absence

NEEDS_POINT = "name a change, or the point after which decisions are repeated: --at POINT"
"""What to say of changes that do not tell where the fork begins."""


class AskWhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """Asks what would have happened after a point if the past had been changed; see `Changes`.

    Without a point, the fork begins just before the first offset that a change refers to; with
    `without` or `drop_commands`, at the start of the history. `without` are names of objects or
    fields, or `FIELD=VALUE`.
    """

    first: str | None = None
    drop: tuple[int, ...] = ()
    drop_records: tuple[int, ...] = ()
    drop_commands: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    edited: tuple[Edited, ...] = ()
    added: tuple[Added, ...] = ()
    show_secrets: bool = False

    @property
    def changes(self) -> Changes:
        """The changes to the past.

        Raises:
            RequestError: INVALID_REQUEST, a name is not the name of an object.
        """
        return Changes(
            drop=frozenset(self.drop),
            drop_records=frozenset(self.drop_records),
            drop_commands=frozenset(map(logged_name, self.drop_commands)),
            without=tuple([Without.parse(text) for text in self.without]),
            replaced=self.replaced,
            edited=self.edited,
            added=self.added,
        )


class Anew(NamedTuple):
    """A fork whose decisions at offsets [start, end] were made again, and the rows it wrote."""

    fork: Fork
    start: int
    end: int
    written: ForkRows


def what_if_told(past: Past, at: int, request: AskWhatIf) -> Computed:
    """Compare the recorded future with that of a fork; return the fields of the result in pieces.

    Both futures end at offset `at`, or at the end of the decision there. The fields are those of
    `metalog what-if --json`; nothing is written.

    Raises:
        RequestError: a change does not fit the log, or is outside the range.
        CorruptLogError: the log is damaged.
    """
    return document_of(decided_anew(past, at, request), past, request)


def document_of(anew: Anew, past: Past, request: AskWhatIf) -> Computed:
    """Return the answer about a fork: the fields of its JSON, in pieces."""
    fork = anew.fork
    return Computed(
        items=_document(fork, request),
        about=lambda: replace(past.about_image(fork.past.image, anew.end), from_=anew.start - 1),
    )


def decided_anew(past: Past, at: int, request: AskWhatIf, *, keep: bool = False) -> Anew:
    """Make the decisions of a range again with the changes in `request`; return the fork.

    Args:
        keep: Keep all rows that the fork writes.

    Raises:
        RequestError, CorruptLogError: as for `what_if_told`.
    """
    changes = request.changes
    _check_existed(past, at, changes)
    start = _start(past, request.first, at, changes)
    if not request.show_secrets:
        changes.check_range(start, at + 1)
        check_no_secrets(changes, partial(_row_at, past))
    return _forked(past, start, at, changes, keep=keep)


def _start(past: Past, point: str | None, at: int, changes: Changes) -> int:
    """Return the first offset of the fork: the start of a decision, outside a transaction."""
    if point is not None:
        start = past.offset(point) + 1
        if start > at + 1:
            raise RequestError(
                "INVALID_REQUEST",
                f"the fork begins after offset {start - 1}, which is after its end, {at}; "
                "exchange the two points",
            )
    elif changes.first_offset is not None:
        start = changes.first_offset
    elif changes.needs_point:
        raise RequestError("INVALID_REQUEST", NEEDS_POINT)
    else:
        start = past.reader.history_start
    if start >= past.reader.end_offset:
        return start
    batch = next(iter(past.reader.batches(start)))
    return max(min(start, batch.base_offset), past.reader.history_start)


def _check_existed(past: Past, at: int, changes: Changes) -> None:
    """Raise an error if an object in `without` never existed: an empty answer would mislead."""
    for without in changes.without:
        if without.name.key(past.image(at)) is None:
            error = absence(past.reader, without.name, at)
            if error.code == "RESOURCE_NOT_FOUND":
                raise error


def _row_at(past: Past, offset: int) -> Envelope:
    batch = next(iter(past.reader.batches(offset)))
    return next(row for row in batch.rows if row.offset == offset)


def _forked(past: Past, start: int, at: int, changes: Changes, *, keep: bool) -> Anew:
    reader = past.reader
    image = past.image(start - 1)
    if image.provenance.pending_transaction is not None:
        start = image.provenance.pending_transaction
    changes.check_range(start, at + 1)
    # A log without settings is another release's, with configs of its own.
    settings = settings_before(reader, start) or Settings(
        cluster_id=reader.cluster_id, accepts_unknown_configs=True
    )
    fork, written = Fork(image, start, changes, RECORDED, settings), ForkRows(start)
    end, reported_count = start - 1, 0
    with past.progress("deciding anew", at + 1) as advance:
        for step, rows in fork.steps(reader.batches(start, at + 1)):
            if step.rows:
                end = step.rows[-1].offset
                advance(end + 1)
            if keep:
                written.add(rows, [remark.text for remark in fork.changed[reported_count:]])
                reported_count = len(fork.changed)
    return Anew(fork, start, max(end, min(at, reader.end_offset - 1)), written)


def _document(fork: Fork, request: AskWhatIf) -> Iterator[Piece]:
    past, other = fork.past.image, fork.state.image
    yield from pieces_of("changed", [remark.text for remark in fork.changed])
    yield Piece("decided", {kind: fork.counts[kind] for kind in _DECIDED})
    yield from pieces_of("undecidable", map(_remark, fork.undecidable))
    yield from pieces_of("substituted", map(_remark, fork.substituted))
    yield from pieces_of("refused", map(_refused, fork.refused))
    differing = (shown(each, request) for each in diff_images(past, other))
    yield from pieces_of("differences", map(msgspec.to_builtins, differing))
    partings = fork.comparison.all_partings()
    yield from pieces_of("partings", (_parting(each, request) for each in partings))
    only = only_leaderless(partings, past.provenance.timestamp)
    yield Piece("leaderless", msgspec.to_builtins(only))
    yield Piece("meets_again", fork.comparison.equal_from)


_DECIDED = ("asked", "inferred", "as recorded")


def _remark(remark: Remark) -> dict[str, Any]:
    return {"offset": remark.offset, "text": remark.text}


def _refused(remark: Remark) -> dict[str, Any]:
    return {"offset": remark.offset, "code": remark.code, "text": remark.text}


def _parting(parting: Parting, request: AskWhatIf) -> dict[str, Any]:
    kind, _, label = parting.object.partition(":")
    values = [parting.happened, parting.forked]
    if not request.show_secrets:
        label = redact_label(kind, label)
        values = [redact_field(kind, parting.field, value) for value in values]
    return {
        "object": f"{kind}:{label}",
        "field": parting.field,
        "before": values[0],
        "after": values[1],
        "from_offset": parting.from_offset,
        "to_offset": parting.to_offset,
        "from_time": parting.from_time,
        "to_time": parting.to_time,
    }


WHAT_IF = Question(
    name="what-if", request=AskWhatIf, item=Piece, tell=what_if_told, joined=JoinedPieces
)
