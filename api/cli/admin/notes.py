"""Notes pinned to offsets: add, list."""

from typing import TYPE_CHECKING, Annotated

from api.cli.admin.admin_client import AdminClient, Item
from api.cli.admin.change import changing
from api.cli.admin.look import Look, reading
from api.cli.options.parameters import Argument, Option
from api.cli.parser.typer_app import App
from api.cli.source.arguments import OFFSET_MAX
from api.cli.terminal.output import print_table

if TYPE_CHECKING:
    from api.documents.notes import NoteList

app = App()


@changing(app)
def add(
    ask: AdminClient,
    offset: Annotated[
        int,
        Argument(
            metavar="OFFSET",
            help="Offset of the record that the note is about.",
            min=0,
            max=OFFSET_MAX,
            show_default=False,
        ),
    ],
    text: Annotated[str, Argument(metavar="TEXT", help="Text of the note.", show_default=False)],
    author: Annotated[
        str | None,
        Option(
            "--author",
            metavar="NAME",
            help="The author of the note; by default the user who runs the command.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Pin a note to an offset; the timeline and `history --notes` show it there."""
    from controller.decisions.notes import AddNote

    result = ask.run("notes add", AddNote(at_offset=offset, text=text, author=author))
    note = result.response
    lines = (f"pinned a note of {note.author} to offset {note.at_offset}",)
    return ask.report(result, [Item(answer=note, lines=lines)])


@reading(app, "list")
def list_(look: Look) -> None:
    """List all notes, ordered by the offset that they are about."""
    from api.questions.notes import ListNotes

    look.show("notes list", ListNotes(), _print_notes)


def _print_notes(found: "NoteList") -> None:
    rows = [(str(n.at_offset), n.author, n.text) for n in found.notes]
    print_table(("offset", "author", "text"), rows)
