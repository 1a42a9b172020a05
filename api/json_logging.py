"""Log lines as JSON: one object per line, tracebacks included.

    {"time":"2026-01-01T10:00:00.000Z","level":"WARNING","logger":"api.upkeep.snapshot_maker",
     "message":"no snapshot of LOG: ..."}

Fields given by `extra=` are added to these; `traceback` is that of an exception.
"""

import logging
import sys
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import msgspec

from api.printable import printable_json

_STANDARD = frozenset(
    (*vars(logging.makeLogRecord({})), "message", "asctime", "time", "level", "logger")
)


class JsonFormatter(logging.Formatter):
    """Formats a record as a JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the JSON text, without a newline."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields: dict[str, Any] = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        if record.stack_info:
            fields["stack"] = record.stack_info
        # Surrogates, which names of files may have, are not in JSON.
        document = msgspec.json.encode(_encodable(fields), enc_hook=repr).decode()
        return printable_json(document)


def log_as_json() -> None:
    """Make this process log as JSON, including Python warnings and uncaught exceptions."""
    for handler in logging.getLogger().handlers:
        handler.setFormatter(JsonFormatter())
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught


def is_json_logged() -> bool:
    """True if `log_as_json` was called."""
    handlers = logging.getLogger().handlers
    return any(isinstance(handler.formatter, JsonFormatter) for handler in handlers)


def _log_uncaught(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    logging.getLogger(__name__).critical("uncaught", exc_info=(kind, error, traceback))


def _encodable(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value
        for name, value in fields.items()
    }
