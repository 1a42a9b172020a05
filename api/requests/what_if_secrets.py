"""Protection of secrets in what-if: callers who may not see secrets must not guess them, either.

If a change may contain a guessed value of a secret, its effect shows whether the guess is right.
"""

from collections.abc import Callable, Iterable

import msgspec

from api.questions.redaction import redact_field
from controller.asked.kept_secrets import without_secrets
from controller.forks.changes import Changes, Edited, Without
from controller.raw_appends.raw_append import AppendRows
from controller.wire import from_wire
from records.base import Record
from records.envelope import Envelope
from records.errors import RequestError
from records.json import to_json
from records.secrets import redact_record

_APPEND = "records append"


def check_no_secrets(changes: Changes, row_at: Callable[[int], Envelope]) -> None:
    """Check that no change contains a secret's value, or edits a record that contains one.

    Args:
        row_at: Returns the row at an offset.

    Raises:
        RequestError: INVALID_REQUEST, a change contains a secret, or edits a record with a secret.
    """
    for each in changes.without:
        _check_without(each)
    for edited in changes.edited:
        _check_edited(edited, row_at(edited.offset).payload)
    for replaced in changes.replaced:
        _check_command(replaced.command, replaced.request)
    for added in changes.added:
        _check_command(added.command, added.request)


def _check_without(without: Without) -> None:
    name = without.name
    if without.value is None or name.field is None:
        return
    if redact_field(name.kind.name, name.field, without.value) != without.value:
        raise _refused(f"{name.text} is a secret")


def _check_edited(edited: Edited, record: Record) -> None:
    type_name, fields = type(record).__name__, to_json(record)
    after = {**fields, **msgspec.json.decode(edited.fields)}
    if any(redact_record(type_name, each) != each for each in (fields, after)):
        raise _refused(f"the record at offset {edited.offset} holds a secret")


def _check_command(command: str, request: bytes) -> None:
    if command == _APPEND:
        _check_records(from_wire(request, AppendRows).plain_rows().records)
    elif _APPEND.encode() in request:
        # A step of a transaction, whose rows are not looked into.
        raise _refused(f"{command} contains {_APPEND}, whose records may hold a secret")
    elif without_secrets(request) is not None:
        raise _refused(f"{command} holds a secret")


def _check_records(records: Iterable[Record]) -> None:
    for record in records:
        fields = to_json(record)
        if redact_record(type(record).__name__, fields) != fields:
            raise _refused(f"a {type(record).__name__} that is added holds a secret")


def _refused(what: str) -> RequestError:
    return RequestError(
        "INVALID_REQUEST", f"{what}: a change may contain a secret's value only with --show-secrets"
    )
