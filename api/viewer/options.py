"""What a process that shows logs is told, and what it tells once it listens."""

from typing import Any

import msgspec

from api.http.options import HttpOptions
from api.security.options import SecurityOptions
from controller.decisions.context.context import Settings


class ShownRange(msgspec.Struct, frozen=True):
    """The records with which a page opens.

    Attributes:
        first, last: Offsets, inclusive; `last` None: the page follows the log's end.
    """

    first: int
    last: int | None = None

    @property
    def link(self) -> str:
        """The fragment of the page's address."""
        return f"#first={self.first}" + ("" if self.last is None else f"&last={self.last}")


class ViewOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a process that shows logs.

    Attributes:
        logs: Directories, and URLs of archives and backups, as given on the command line.
        range: The range with which the page of a single log opens; None: its newest records.
        around: Wraps the application in one that answers further paths.
    """

    logs: tuple[str, ...]
    http: HttpOptions
    range: ShownRange | None = None
    around: Any = None
    security: SecurityOptions = SecurityOptions()
    settings: Settings = Settings()


class ViewedLog(msgspec.Struct, frozen=True, kw_only=True):
    """A log that is shown.

    Attributes:
        path: Path of the log's page, with the range with which it opens.
        cluster_id, log_end: None if the log cannot be read; `error` gives the reason.
    """

    log: str
    path: str
    cluster_id: str | None = None
    log_end: int | None = None
    error: str | None = None


class ViewReady(msgspec.Struct, frozen=True, kw_only=True):
    """The logs that are shown, and the address."""

    http: str
    logs: tuple[ViewedLog, ...]
