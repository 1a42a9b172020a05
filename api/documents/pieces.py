"""JSON form of answers that come in pieces, such as images."""

from typing import Any

import msgspec

from api.documents.document import Document
from api.questions.objects import joined


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """The objects of each part, in the form of `api.questions.objects`."""

    parts: dict[str, list[dict[str, Any]]]


def _joined(request: Any, pieces: Any) -> dict[str, Any]:
    return joined(pieces)


IMAGE = Document(type=Image, of=lambda _, pieces: Image(parts=joined(pieces)))
PIECES = Document(type=dict, of=_joined)
KRAFT_IMAGE = Document(type=dict, of=_joined, has_place=False)
OUTAGES = Document(type=dict, of=_joined, list_field="intervals")
