"""Questions about an image: its objects, its digest, and its JSON in kraft form.

The kraft form is the JSON that other readers of Kafka's metadata logs print.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import msgspec

from api.questions.past import Past
from api.questions.question import Computed, Question
from api.questions.redaction import redact_field, redact_kraft_json, redact_label
from metadata_log.format.manifest import Kind as LogKind
from records.errors import RequestError
from replay.image.digest import image_digest
from replay.image.metadata import MetadataImage
from replay.time_travel.diff_by_name import label_by_name
from replay.time_travel.kinds import KINDS, VERSIONED_KINDS, VOTERS, Kind, object_version
from replay.timeline import Timeline

# The names that people use for all objects of a kind.
PARTS: dict[str, Kind] = {
    {"cluster": "cluster", "scram": "scram"}.get(name, f"{name}s"): kind
    for name, kind in KINDS.items()
}

_VALUES_MAX = 100
"""Number of values in a piece: enough to be cheap, few enough for pages of about the same size."""


class Piece(msgspec.Struct, frozen=True):
    """A piece of a JSON object: some items of a list field, or the whole value of another field."""

    part: str
    value: Any


def joined(pieces: Iterable[Piece]) -> dict[str, Any]:
    """Return the JSON object that consists of the pieces, with the fields in the pieces' order."""
    document: dict[str, Any] = {}
    for piece in pieces:
        if isinstance(piece.value, list):
            document.setdefault(piece.part, []).extend(piece.value)
        else:
            document[piece.part] = piece.value
    return document


def pieces_of(part: str, values: Iterable[Any]) -> Iterator[Piece]:
    """Cut a list into pieces; an empty list is one piece."""
    rest = iter(values)
    yield Piece(part, list(islice(rest, _VALUES_MAX)))
    while piece := list(islice(rest, _VALUES_MAX)):
        yield Piece(part, piece)


class JoinedPieces:
    """A `question.Joiner` that joins the pieces of each field, and cuts the field into new ones."""

    def __init__(self) -> None:
        self._part = ""
        self._values: list[Any] = []

    def add(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Buffer the next pieces; yield the pieces of the fields that are now complete."""
        for piece in pieces:
            if piece.part != self._part:
                yield from self.rest()
                self._part = piece.part
            if not isinstance(piece.value, list):
                yield piece
                self._part = ""
                continue
            self._values.extend(piece.value)

    def rest(self) -> Iterator[Piece]:
        """Yield the pieces of the last field."""
        if self._part:
            yield from pieces_of(self._part, self._values)
        self._part, self._values = "", []


class ShowImage(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the objects of an image: of the given parts, or of all.

    Each object in the answer is a JSON object with its name as `object` and its fields. If its kind
    has versions, it also has `version`: the offset of the last record that changed the object, or
    -1 if that offset is not kept.
    """

    parts: tuple[str, ...] = ()
    show_secrets: bool = False


def image_shown(past: Past, at: int, request: ShowImage) -> Computed:
    """Return the objects of the image as of an offset, each part ordered by name.

    Raises:
        RequestError: INVALID_REQUEST, there is no part of this name.
    """
    for part in request.parts:
        if part not in PARTS:
            raise RequestError("INVALID_REQUEST", f"{part!r} is none of {', '.join(PARTS)}")
    image = past.image(at)
    pieces = (
        piece
        for part in request.parts or PARTS
        for piece in pieces_of(part, _shown(past, at, image, part, request.show_secrets))
    )
    return Computed(items=pieces, about=lambda: past.about_image(image, at))


def _shown(
    past: Past, at: int, image: MetadataImage, part: str, show_secrets: bool
) -> Iterator[dict[str, Any]]:
    kind = PARTS[part]
    if part == VOTERS and past.reader.kind is LogKind.MIRROR and not any(image.voters()):
        return _static_voters(past, at)
    return _objects(image, kind, show_secrets, label_by_name if past.by_name else _label)


def _static_voters(past: Past, at: int) -> Iterator[dict[str, Any]]:
    """Yield the voters that the latest leader announced, with the offset of the announcement."""
    # Only mirrors of clusters with static voters need it.
    from replay.time_travel.static_voters import static_voters

    last = deque(static_voters(past.reader, at + 1), 1)
    for voters in last:
        for voter_id in voters.voter_ids:
            yield {
                "object": f"voter:{voter_id}",
                "is_static": True,
                "named_at": voters.row.offset,
            }


def _label(kind: Kind, image: MetadataImage, key: Any) -> str:
    return kind.label(image, key)


_LabelOf = Callable[[Kind, MetadataImage, Any], str]


def _objects(
    image: MetadataImage, kind: Kind, show_secrets: bool, label_of: _LabelOf
) -> Iterator[dict[str, Any]]:
    for label, key in named_objects(image, kind, show_secrets=show_secrets, label_of=label_of):
        yield object_json(image, kind, key, label, show_secrets=show_secrets)


def named_objects(
    image: MetadataImage, kind: Kind, *, show_secrets: bool, label_of: _LabelOf = _label
) -> Iterator[tuple[str, Any]]:
    """Yield name and key of every object of a kind, ordered by name."""
    named = sorted((label_of(kind, image, key), repr(key), key) for key, _ in kind.objects(image))
    for label, _, key in named:
        yield label if show_secrets else redact_label(kind.name, label), key


def object_json(
    image: MetadataImage, kind: Kind, key: Any, label: str, *, show_secrets: bool
) -> dict[str, Any]:
    """Return an object as JSON: its name, its version, its fields."""
    fields = kind.fields(image, key) or {}
    if not show_secrets:
        fields = {name: redact_field(kind.name, name, v) for name, v in fields.items()}
    return {"object": f"{kind.name}:{label}", **_version(image, kind, key), **fields}


def _version(image: MetadataImage, kind: Kind, key: Any) -> dict[str, int]:
    if kind.name not in VERSIONED_KINDS:
        return {}
    return {"version": object_version(image, kind.name, key)}


def plain_objects(
    values: Iterable[dict[str, Any]],
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield kind, name and fields of the objects in an answer, without their versions.

    The result is the same whether the answer is from a log or a service. Voters that no record set
    are left out.
    """
    for value in values:
        kind, _, label = value["object"].partition(":")
        # Voters that no record set are those that a leader named.
        if not value.get("is_static"):
            fields = {name: of for name, of in value.items() if name not in ("object", "version")}
            # Sequences are tuples or, across a connection, lists.
            yield kind, label, msgspec.json.decode(msgspec.json.encode(fields))


class ShowKraftImage(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for an image in the JSON that other readers of Kafka's metadata logs print."""

    show_secrets: bool = False


def kraft_image_shown(past: Past, at: int, request: ShowKraftImage) -> Computed:
    """Return the parts of `kraft_json` for the image as of an offset."""
    from replay.image.kraft_json import kraft_json

    image = past.image(at)
    document = kraft_json(image)
    if not request.show_secrets:
        document = redact_kraft_json(document)
    pieces = (
        piece
        for part, value in document.items()
        for piece in (pieces_of(part, value) if isinstance(value, list) else [Piece(part, value)])
    )
    return Computed(items=pieces, about=lambda: past.about_image(image, at))


class ShowDigest(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the digest of an image: by `replay` from the log's start, or from a `snapshot`."""

    by: str = "replay"


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """A digest in hexadecimal, and the method by which it was computed."""

    digest: str
    by: str


def digest_shown(past: Past, at: int, request: ShowDigest) -> Computed:
    """Return the digest of the image as of an offset.

    Raises:
        RequestError: SNAPSHOT_NOT_FOUND; or INVALID_REQUEST, `by` has another value.
    """
    if request.by == "replay":
        with past.progress("replaying", at + 1) as advance:
            # Without snapshots: this is the opinion that they are compared with.
            image = Timeline(past.reader).image(at, progress=advance)
    elif request.by == "snapshot":
        image = _from_snapshot(past, at)
    else:
        raise RequestError("INVALID_REQUEST", f"{request.by!r} is none of replay, snapshot")
    digest = Digest(digest=image_digest(image), by=request.by)
    return Computed(answer=digest, about=lambda: past.about_image(image, at))


def _from_snapshot(past: Past, at: int) -> MetadataImage:
    with _snapshots(past) as timeline:
        start = timeline.newest_snapshot(at)
    reader = past.reader
    # Replay alone would be no second opinion; of an unknown offset it says so.
    if start is None and at >= reader.history_start - 1:
        raise RequestError(
            "SNAPSHOT_NOT_FOUND",
            f"there is no usable snapshot of this log at or below offset {at}; make one with "
            f"`metalog snapshot create {reader.directory} --at {at}`",
        )
    return timeline.image(at, start=start)


@contextmanager
def _snapshots(past: Past) -> Iterator[Timeline]:
    """Yield a timeline of a log that uses the snapshots in its directory.

    Raises:
        RequestError: the log has no snapshots, or they cannot be read.
    """
    from replay.snapshot.database import default_url
    from replay.snapshot.store import SnapshotStore

    reader = past.reader
    if past.names_snapshots:
        yield past.timeline
        return
    if reader.local_directory is None:
        raise RequestError(
            "SNAPSHOT_NOT_FOUND",
            f"{reader.directory} holds no snapshots; make a log of it with `metalog restore`, or "
            "use --by replay",
        )
    with SnapshotStore.open(default_url(reader.local_directory), reader.cluster_id) as store:
        yield Timeline(reader, store)


IMAGE = Question(name="image", request=ShowImage, item=Piece, tell=image_shown, joined=JoinedPieces)
KRAFT_IMAGE = Question(
    name="image kraft", request=ShowKraftImage, item=Piece, tell=kraft_image_shown
)
DIGEST = Question(name="digest", request=ShowDigest, answer=Digest, tell=digest_shown)
