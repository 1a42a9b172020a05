"""Notes: comments by users on a log offset, stored in the log itself."""

from controller.decisions.context.context import Context
from controller.decisions.request import Request
from controller.results.result import ControllerResult
from records.control import NoteRecord
from records.errors import RequestError
from replay.image.fields import copied
from replay.image.notes import Note
from replay.image.parts import PARTS

NOTE_LENGTH_MAX = 4_096
"""Maximum length of a note, in characters."""

NOTES_MAX = 10_000
"""Maximum number of notes in a log: they stay in the image for ever."""

_AUTHOR_LENGTH_MAX = 255


class AddNote(Request["Note"], frozen=True, kw_only=True):
    """A request to add a note to an offset; `author` is the caller's principal unless given."""

    at_offset: int
    text: str
    author: str | None = None


def add_note(context: Context, request: AddNote) -> ControllerResult[Note]:
    """Add a note to an offset of the log; writes nothing if the same note exists.

    Raises:
        RequestError: OFFSET_OUT_OF_RANGE, the offset is beyond the log's end; INVALID_REQUEST, the
            note is empty or too long; POLICY_VIOLATION, there are too many.
    """
    author = context.caller.principal if request.author is None else request.author
    _check_text("text", request.text, NOTE_LENGTH_MAX)
    _check_text("author", author, _AUTHOR_LENGTH_MAX)
    if not 0 <= request.at_offset < context.next_offset:
        raise RequestError(
            "OFFSET_OUT_OF_RANGE",
            f"no record has the offset {request.at_offset}: the log ends at offset "
            f"{context.next_offset - 1}",
        )
    note = Note(request.at_offset, author, request.text)
    is_new = PARTS["notes"].get(context.image, (note.at_offset, author, note.text)) is None
    if is_new and sum(1 for _ in context.image.notes()) >= NOTES_MAX:
        raise RequestError(
            "POLICY_VIOLATION", f"the log already has the maximum of {NOTES_MAX:,} notes"
        )
    return ControllerResult(response=note, records=(copied(note, NoteRecord),) if is_new else ())


def _check_text(what: str, text: str, length_max: int) -> None:
    if not 0 < len(text) <= length_max:
        raise RequestError(
            "INVALID_REQUEST",
            f"the {what} of a note has 1 to {length_max:,} characters, not {len(text):,}",
        )
