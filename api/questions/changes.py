"""Parts of answers about changes: changed fields, requesters of changes, announced voters."""

from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from api.questions.envelope_json import origin_json
from api.questions.past import Past
from api.questions.redaction import holds_secrets, redact_field, redact_label
from metadata_log.format.manifest import Kind
from records.envelope import Envelope
from replay.name_patterns import name_matcher
from replay.time_travel.changes import Change
from replay.time_travel.kinds import VOTERS
from replay.time_travel.objects import ObjectName

if TYPE_CHECKING:
    from replay.time_travel.asked_for import AskedFor


class FieldChange(msgspec.Struct, frozen=True, kw_only=True):
    """One field that changed.

    `fate`: the object is `new`, `gone` or `changed`; set only if the request has `fates`.
    """

    field: str
    before: Any
    after: Any
    fate: str | UnsetType = UNSET


class ObjectChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One changed field and the object that it belongs to; see `FieldChange`.

    If the fate is `passed`, the object existed only between the points of a diff: the record at
    `from_offset` created it, the record at `to_offset` removed it, and `field` is empty.
    """

    object: str
    field: str
    before: Any
    after: Any
    fate: str | UnsetType = UNSET
    from_offset: int | UnsetType = UNSET
    to_offset: int | UnsetType = UNSET


PASSED_UNKNOWN = ObjectChange(object="", field="", before=None, after=None, fate="passed")
"""Last item of a diff that could not search for objects which existed only between its points."""


class AskedBy(msgspec.Struct, frozen=True, kw_only=True):
    """The record that requested what a later record did, such as a shrink before a removal."""

    offset: int
    timestamp: int
    type: str
    origin: dict[str, Any] | None


class Shown(Protocol):
    """A request that chooses whether secrets are shown."""

    @property
    def show_secrets(self) -> bool:
        """True if secrets are shown."""


def shown(change: Change, request: Shown) -> ObjectChange:
    """Return a change in the form shown to the caller: redacted, unless secrets are requested."""
    name, before, after = change.object, change.before, change.after
    kind, _, label = name.partition(":")
    if not request.show_secrets and holds_secrets(kind):
        name = f"{kind}:{redact_label(kind, label)}"
        before = redact_field(kind, change.field, before)
        after = redact_field(kind, change.field, after)
    return ObjectChange(
        object=name,
        field=change.field,
        before=before,
        after=after,
        fate=change.fate if getattr(request, "fates", False) else UNSET,
    )


def asked_by(asked_for: "AskedFor", row: Envelope, kind: str, label: str) -> AskedBy | UnsetType:
    """Return the earlier record that requested what a row did to an object; UNSET if none did."""
    asked = asked_for.of(row, kind, label)
    if asked is None:
        return UNSET
    return AskedBy(
        offset=asked.offset,
        timestamp=asked.timestamp,
        type=type(asked.payload).__name__,
        origin=origin_json(asked.origin),
    )


def announced_voters(past: Past, name: ObjectName, end: int) -> list[tuple[Envelope, Change]]:
    """Return the announcements of the named voters of a static quorum; empty for other objects."""
    if past.reader.kind is not Kind.MIRROR or name.field is not None:
        return []
    from replay.time_travel.static_voters import static_voter_changes, static_voters

    if name.name == VOTERS:
        return list(static_voter_changes(past.reader, end))
    if name.kind.name != "voter":
        return []
    listed = {str(each) for of in static_voters(past.reader, end) for each in of.voter_ids}
    matches = name_matcher(name.name, listed)
    voter_ids = sorted(int(each) for each in listed if matches(each))
    found = [each for of in voter_ids for each in static_voter_changes(past.reader, end, of)]
    return sorted(found, key=lambda each: each[0].offset)
