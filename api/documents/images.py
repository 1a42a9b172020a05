"""JSON form of an image: all objects of some parts."""

from typing import Any

import msgspec


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """The objects of each part, in the form of `api.questions.objects`."""

    parts: dict[str, list[dict[str, Any]]]
