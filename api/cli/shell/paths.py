"""Paths of the shell: /partitions/orders/0 is the object partition:orders/0.

The first step of a path is a part of the image, the rest is the name of an object in that part. If
a name contains a slash, the text before the slash is shown as a folder.
"""

import posixpath
from collections.abc import Iterable
from typing import NamedTuple

from api.questions.objects import PARTS
from records.errors import RequestError

ROOT = "/"

# Stands for the empty name of the configs of all brokers, `config:broker/`.
_DEFAULT = "<default>"

_BY_KIND = {kind.name: part for part, kind in PARTS.items()}


class Place(NamedTuple):
    """The parsed form of a path: a part of the image, an object's name in it, and a field."""

    part: str | None = None
    label: str = ""
    field: str | None = None

    @property
    def path(self) -> str:
        """The path, without the field."""
        label = f"{self.label}{_DEFAULT}" if self.label.endswith("/") else self.label
        return posixpath.join(ROOT, self.part or "", label).rstrip("/") or ROOT

    @property
    def object(self) -> str | None:
        """The object's name, whether or not the object exists; None for the root and for parts."""
        if self.part is None or not self.label:
            return None
        field = "" if self.field is None else f"#{self.field}"
        return f"{PARTS[self.part].name}:{self.label}{field}"


def place_at(folder: str, text: str) -> Place:
    """Return the place of a path, which may be relative to `folder`.

    An object's name, such as `topic:orders`, is also accepted as a path.

    Raises:
        RequestError: RESOURCE_NOT_FOUND, the image has no such part.
    """
    whole, _, field = text.partition("#")
    kind, colon, name = whole.partition(":")
    if colon and kind in _BY_KIND:
        return Place(_BY_KIND[kind], name, field or None)
    path = posixpath.normpath(posixpath.join(folder, whole))
    part, _, label = path.strip("/").partition("/")
    if not part:
        return Place(field=field or None)
    if part not in PARTS:
        raise RequestError(
            "RESOURCE_NOT_FOUND", f"there is no {path}; the parts are {', '.join(PARTS)}"
        )
    return Place(part, label.removesuffix(_DEFAULT), field or None)


def steps_below(labels: Iterable[str], folder: str) -> list[str]:
    """Return the names directly below a folder of a part; names of folders end in a slash."""
    before = f"{folder}/" if folder else ""
    found: dict[str, None] = {}
    for label in labels:
        if label.startswith(before):
            step, slash, _ = label[len(before) :].partition("/")
            found[step + slash or _DEFAULT] = None
    return sorted(found, key=_order)


def _order(step: str) -> tuple[bool, int, str]:
    """Return the sort key of a step: names first, then numbers by value."""
    text = step.rstrip("/")
    is_number = text.isascii() and text.isdigit()
    return is_number, int(text) if is_number and len(text) < 19 else 0, step
