"""Reading a cluster out of a log directory, at any point, without a lock."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from api.cli.admin.options import ReadLogOption
from api.cli.admin.shared import verb_with
from api.cli.arguments import At, Json

if TYPE_CHECKING:
    from controller.descriptions.view import View


@dataclass(frozen=True, kw_only=True)
class Look:
    """Which log is read, at which point, and how the answer is printed."""

    log: Path
    at: str
    json: bool

    def view(self) -> "tuple[View, dict[str, Any]]":
        """Return the cluster at the point, and what the answer says of where it stands.

        Raises:
            RequestError: no log, or no such point.
            CorruptLogError: the log is damaged.
        """
        from api.cli.reading import image_at, offset_of, open_reader, provenance
        from controller.decisions.context import Settings
        from controller.descriptions.view import View

        with open_reader(self.log) as reader:
            offset = offset_of(reader, self.at)
            image = image_at(reader, offset)
            settings = Settings(cluster_id=reader.cluster_id)
            return View.of(image, settings), provenance(reader, image, offset)


def _look(*, log: ReadLogOption, at: At = "end", json: Json = False) -> Look:
    return Look(log=log, at=at, json=json)


reading = verb_with(_look)
"""Registers a verb that reads the cluster; its first parameter is a `Look`."""
