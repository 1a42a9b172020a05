"""Images: all objects of some parts."""

from typing import Any

import msgspec


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """The objects of each part, as `api.questions.objects` gives them."""

    parts: dict[str, list[dict[str, Any]]]
