"""The `shrink` command: finds the smallest log in which an expression still flips."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.options.parameters import Argument, Option
from api.cli.parser.quick import command
from api.cli.source.arguments import ExpressionText, From, Json, LogPlace, To
from api.cli.source.image_view import print_remark
from api.cli.source.opened_log import absolute_in, place_of
from api.cli.terminal.errors import DONE, FOUND
from api.cli.terminal.output import count_text, print_json, print_line
from api.cli.terminal.progress_bar import progress

if TYPE_CHECKING:
    from api.documents.shrunk import ShrunkLog
    from api.questions.past import Past
    from metadata_log.format.batch import Batch
    from replay.expressions.expression import Expression
    from replay.expressions.shrink import Atom, Shrunk

_SHOWN_MAX = 20
# Short histories may be replayed more often.
_RECORDS_MIN = 10_000


@command()
def shrink(
    log: LogPlace,
    expression: ExpressionText,
    dest: Annotated[
        Path,
        Argument(
            metavar="DEST",
            help="A new folder for the reduced log and its test.",
            show_default=False,
        ),
    ],
    breaks: Annotated[
        bool,
        Option(
            "--breaks",
            help="Look for where the expression becomes false, not for where it becomes true.",
        ),
    ] = False,
    from_: From = "start",
    to: To = "end",
    effort: Annotated[
        int,
        Option(
            metavar="N",
            min=1,
            help="Limit of the search: replay at most N times the records up to the flip.",
        ),
    ] = 200,
    json: Json = False,
) -> int:
    """Shrink a history to the smallest log in which an expression still becomes true.

    Writes the log and a pytest file that replays it to DEST; exit 1 if the expression never becomes
    true.
    """
    from api.cli.past.shrunk_folder import LOG, TEST, new_folder, save_shrunk
    from api.documents.shrunk import NothingShrunk, ShrunkLog
    from api.questions.past import Past
    from metadata_log.reader.log_reader import LogReader
    from replay.expressions.expression import Expression

    parsed = Expression(expression)
    with LogReader.open(log) as reader, new_folder(dest):
        past = Past(reader, absolute=absolute_in, progress=progress)
        at = past.offset(to)
        first = past.first_offset(from_, at)
        atoms = _up_to_flip(past, first, at, parsed, breaks)
        if atoms is None:
            about = past.about(at)
            nothing = NothingShrunk(expression=expression, breaks=breaks)
        else:
            about = past.about(atoms[-1].unit)
            found = _shrunk(atoms, parsed, breaks, effort)
            offsets = save_shrunk(dest, reader.cluster_id, found, parsed, breaks=breaks)
            answer = ShrunkLog.of(
                found,
                expression,
                breaks=breaks,
                first=first,
                history=atoms,
                log=dest / LOG,
                test=dest / TEST,
                offsets=offsets,
            )
    if json:
        print_json(place_of(about), nothing if atoms is None else answer)
    elif atoms is None:
        print_line(f"it {_begins(breaks)} to hold nowhere between {from_} and {to}")
    else:
        _print(answer)
        print_remark(about)
    return FOUND if atoms is None else DONE


def _up_to_flip(
    past: "Past", first: int, at: int, expression: "Expression", breaks: bool
) -> "list[Atom] | None":
    from replay.expressions.shrink import atoms_of, up_to_flip

    start = past.image(first - 1)
    with past.progress("replaying", at + 1) as advance:
        batches = _with_progress(past.reader.batches(start.provenance.next_offset, at + 1), advance)
        return up_to_flip(atoms_of(start, batches, at + 1), expression, breaks=breaks)


def _with_progress(batches: "Iterable[Batch]", advance: Callable[[int], None]) -> "Iterator[Batch]":
    for batch in batches:
        advance(batch.end_offset)
        yield batch


def _shrunk(atoms: "list[Atom]", expression: "Expression", breaks: bool, effort: int) -> "Shrunk":
    from replay.expressions.shrink import count_of, shrink

    count = count_of(atoms)
    with progress("shrinking", 0, count) as advance:
        return shrink(
            atoms,
            expression,
            breaks=breaks,
            records_max=effort * max(count, _RECORDS_MIN),
            progress=advance,
        )


def _begins(breaks: bool) -> str:
    return "ceases" if breaks else "begins"


def _print(answer: "ShrunkLog") -> None:
    print_line(f"it {_begins(answer.breaks)} to hold at offset {answer.flip}")
    base = f" and {answer.base_records:,} of the state before" if answer.base_records else ""
    print_line(
        f"shrunk from {count_text(answer.records_before, 'record')}{base} to {answer.records:,}, "
        f"in {count_text(answer.batches, 'batch')}; {answer.tried:,} histories replayed"
    )
    if answer.minimal:
        print_line("  1-minimal: it no longer does if any one of them is left out")
    else:
        print_line("  perhaps not minimal: stopped; a higher --effort goes on")
    print_line(f"{'new':>9} {'old':>9}")
    for each in answer.kept[:_SHOWN_MAX]:
        old = "base" if each.source_offset is None else each.source_offset
        print_line(f"{each.offset:>9} {old:>9}  {each.type}")
    if len(answer.kept) > _SHOWN_MAX:
        print_line(f"  and {len(answer.kept) - _SHOWN_MAX:,} more: metalog dump {answer.log}")
    print_line(f"{answer.log}: an own log")
    print_line(f"{answer.test}: a test that replays it, for pytest")
