"""Errors and warnings of commands: one line each on standard error, and the exit code."""

import errno
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from api.cli.terminal.output import fields_of, json_line
from api.printable import plain, plain_block
from records.errors import (
    CommittedHistoryChangedError,
    ContradictionError,
    CorruptLogError,
    FencedError,
    MetadataLogError,
    Outcome,
    RequestError,
)

if TYPE_CHECKING:
    import msgspec

F = TypeVar("F", bound=Callable[..., Any])

_log = logging.getLogger("metalog")

_READS_ONLY = "reads_only"


class Interrupted(Exception):
    """A command was interrupted; the message gives the outcome if it is known."""


class NothingDone(Interrupted):
    """A command was interrupted and has changed nothing."""


def reads_only(function: F) -> F:
    """Mark a command as read-only, so that an interrupt is reported as having changed nothing."""
    function.__dict__[_READS_ONLY] = True
    return function


def is_reads_only(function: Any) -> bool:
    """True if a command is marked by `reads_only`."""
    return getattr(function, _READS_ONLY, False)


@contextmanager
def interruptible(function: Any) -> Iterator[None]:
    """Run a command as the body; if it is read-only, convert an interrupt to NothingDone.

    Raises:
        NothingDone: the command was interrupted, and is marked by `reads_only`.
    """
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if not is_reads_only(function):
            raise
        raise NothingDone("stopped; nothing was changed") from interrupt


# The machine refuses, and a retry would not help: a wrong path, a missing permission.
_WRONG_PATH = frozenset(
    {
        errno.EACCES,
        errno.EEXIST,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    }
)

DONE, FOUND, USAGE, REFUSED, UNAVAILABLE, CORRUPT, ALARM, ALERT = 0, 1, 2, 3, 4, 5, 6, 7
"""Exit codes."""

STOPPED = "stopped; what was acknowledged before is kept"

# Outcome of the requested change: `records.errors.Outcome`, which is too slow to import here.
NOTHING, UNKNOWN = "nothing", "unknown"

ERRORS_AS_JSON: ContextVar[bool] = ContextVar("errors as JSON", default=False)


class _PlainFormatter(logging.Formatter):
    """Formats a message as one line, and a traceback as an indented block below it.

    Both contain names that clients and other nodes chose.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return plain(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return plain_block(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        return plain_block(super().formatStack(stack_info))


def configure_logging(debug: bool) -> None:
    """Print warnings on standard error; with `debug` informational messages, too."""
    handler = logging.StreamHandler()
    handler.setFormatter(_PlainFormatter("%(levelname)s: %(message)s"))
    level = logging.INFO if debug else logging.WARNING
    logging.basicConfig(handlers=[handler], level=level)


def report(error: Exception) -> int:
    """Print an error as one line and return its exit code."""
    if os.environ.get("METALOG_DEBUG"):
        _print_traceback(error)

    match error:
        case MetadataLogError():
            return _fail_with(error)
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            refused = error.errno in _WRONG_PATH
            next_ = (
                "check the path and its permissions" if refused else "try again when it is mended"
            )
            message = f"{where}{error.strerror or error}; {next_}"
            if refused:
                return fail("IO", message, REFUSED)
            return fail("IO", message, UNAVAILABLE, UNKNOWN)
        case _:
            return fail(
                "INTERNAL",
                f"{type(error).__name__}: {error}; this is a mistake of ours: run again with "
                "`metalog --debug` and report what it prints",
                REFUSED,
                UNKNOWN,
            )


def _print_traceback(error: Exception) -> None:
    if _is_json_logged():
        _log.error("the next error came from here", exc_info=error)
        return
    import traceback

    sys.stderr.write(plain_block("".join(traceback.format_exception(error))) + "\n")


def _fail_with(error: "MetadataLogError") -> int:
    """Print an error with its outcome, and return the exit code.

    An unknown outcome never gets the exit code of a refusal.
    """
    from replay.time_travel.spoken_times import MalformedPointError

    if isinstance(error, ContradictionError) and error.record is not None:
        print_contradiction(error)
        return FOUND
    match error:
        case MalformedPointError():
            code, exit_code = "USAGE", USAGE
        case CommittedHistoryChangedError():
            code, exit_code = error.code, ALARM
        case RequestError():
            code, exit_code = error.code, REFUSED
        case CorruptLogError():
            code, exit_code = "CORRUPT", CORRUPT
        case FencedError():
            code, exit_code = "FENCED", UNAVAILABLE
        case _:
            code, exit_code = "UNAVAILABLE", UNAVAILABLE
    message = str(error)
    if error.outcome is Outcome.UNKNOWN:
        exit_code = CORRUPT if exit_code == CORRUPT else UNAVAILABLE
        if "outcome is unknown" not in message:
            message += "; the outcome is unknown"
    print_error(code, message, error.outcome.value, error.done_to, retry_ms=error.retry_ms)
    return exit_code


def wants_json(arguments: list[str]) -> bool:
    """True if the arguments contain --json; works before they are parsed and validated."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def print_error(
    code: str,
    message: str,
    outcome: str = NOTHING,
    done_to: int | None = None,
    *,
    retry_ms: int = 0,
    contradiction: ContradictionError | None = None,
) -> None:
    """Print an error on standard error: as one line of text, or as JSON under --json.

    The JSON of a contradiction has the two records that contradict.
    """
    text = " ".join(message.split())
    if not (ERRORS_AS_JSON.get() or _is_json_logged()):
        sys.stderr.write(f"error: {code}: {plain(text)}\n")
        return
    from msgspec import UNSET

    from api.documents.errors import Contradiction, Error

    retry = retry_ms or UNSET
    error = Error(code=code, message=text, outcome=outcome, done_to=done_to, retry_ms=retry)
    _write_json(error, *([] if contradiction is None else [Contradiction.of(contradiction)]))


def print_contradiction(error: ContradictionError) -> None:
    """Print a contradiction as an error."""
    print_error("CONTRADICTION", str(error), error.outcome.value, contradiction=error)


def _is_json_logged() -> bool:
    """True if this process logs as JSON; does not import `json_logging`, which takes long."""
    logs = sys.modules.get("api.json_logging")
    return logs is not None and bool(logs.is_json_logged())


def _write_json(*parts: "msgspec.Struct") -> None:
    fields = fields_of(*parts)
    if _is_json_logged():
        _log.error("%s", fields.pop("message"), extra=fields)
    else:
        sys.stderr.write(f"{json_line(fields)}\n")


def fail(
    code: str,
    message: str,
    exit_code: int,
    outcome: str = NOTHING,
) -> int:
    """Print an error and return its exit code."""
    print_error(code, message, outcome)
    return exit_code
