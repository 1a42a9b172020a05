"""`metalog`: commands and error handling.

Only typer is imported here. A command's module is imported when the command runs, and its functions
import what other commands in the module do not need, because imports take most of a short run.
"""

import errno
import importlib.util
import itertools
import logging
import os
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import exceptions

from api.cli.typer_app import App, Interrupted, NotBegun

if TYPE_CHECKING:
    from records.errors import MetadataLogError


app = App(
    name="metalog",
    help="Keep, replay and debug the metadata log of a cluster.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Each module of commands and what it adds: only the one that is run is imported.
_MODULES = {
    "keeping": ("init", "info", "demo"),
    "importing": ("import",),
    "streaming": ("tail", "append"),
    "looking": ("dump", "image", "digest"),
    "past": ("history", "diff", "blame"),
    "snapshots": ("snapshot",),
    "caring": ("verify", "repair"),
    "copying": ("backup", "restore", "archive", "retain"),
    "auditing": ("audit",),
    "serving": ("serve", "broker"),
    "admin.elect_leaders": ("elect-leaders",),
    "admin.transaction": ("transaction",),
    "admin.nouns": (
        *("topics", "namespaces", "configs", "subscriptions", "brokers", "partitions"),
        "reassignments",
        *("features", "acls", "users", "quotas"),
    ),
}
_PACKAGES = ("records", "metadata_log", "replay", "controller", "api", "migrations")

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

DONE, FOUND, USAGE, REFUSED, UNAVAILABLE, CORRUPT = 0, 1, 2, 3, 4, 5
"""Exit codes."""

_STOPPED = "stopped; what was acknowledged before is kept"

# Outcome of the requested change: `records.errors.Outcome`, which is too slow to import here.
_NOTHING, _UNKNOWN = "nothing", "unknown"

_ERRORS_AS_JSON: ContextVar[bool] = ContextVar("errors as JSON", default=False)


def need_command(context: typer.Context) -> None:
    """Print a group's help if it is called without a command: a usage error."""
    if context.invoked_subcommand is None:
        sys.stderr.write(context.get_help() + "\n")
        raise typer.Exit(USAGE)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        sys.stdout.write(f"metalog {version('metadata-log')}\n")
        raise typer.Exit(DONE)


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    if debug:
        os.environ["METALOG_DEBUG"] = "1"
    need_command(context)
    level = logging.INFO if debug else logging.WARNING
    logging.basicConfig(format="%(levelname)s: %(message)s", level=level)


def run(arguments: list[str]) -> int:
    """Run one command; return its exit code."""
    _ERRORS_AS_JSON.set(wants_json(arguments))
    stranger = _foreign_package()
    if stranger:
        return _fail("INSTALLATION", stranger, USAGE)
    load_commands(arguments)
    try:
        result = app(arguments, prog_name="metalog", standalone_mode=False)
    except exceptions.Exit as exit_:
        return exit_.exit_code
    except exceptions.TyperException as error:
        return _fail("USAGE", f"{error.format_message().rstrip('.')}; see `metalog --help`", USAGE)
    except NotBegun as interrupt:
        return _fail("INTERRUPTED", str(interrupt), 130)
    except (exceptions.Abort, KeyboardInterrupt, Interrupted) as interrupt:
        if isinstance(interrupt.__cause__, EOFError):
            # Typer takes any for Ctrl-D at a prompt, and no command prompts.
            return _report(interrupt.__cause__)
        return _fail("INTERRUPTED", str(interrupt) or _STOPPED, 130, _UNKNOWN)
    except SystemExit as exit_:
        # Typer turns a broken pipe into this: the reader has closed our output. Python would still
        # complain when it flushes.
        if not isinstance(exit_.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        return _report(error)
    return result if isinstance(result, int) else DONE


def load_commands(arguments: Sequence[str] = ()) -> None:
    """Register the command to run by importing its module; all commands if it is not known."""
    options = list(itertools.takewhile(lambda argument: argument == "--debug", arguments))
    command = arguments[len(options)] if len(options) < len(arguments) else None
    named = [module for module, commands in _MODULES.items() if command in commands]
    if named:
        _import_msgspec()
    for module in named or _MODULES:
        importlib.import_module(f"api.cli.{module}")


def _import_msgspec() -> None:
    """Import msgspec as if there were no typing_extensions.

    It needs nothing of that on our versions of Python, and importing it takes longer than msgspec.
    """
    hidden = "typing_extensions"
    if "msgspec" in sys.modules or hidden in sys.modules:
        return
    sys.modules[hidden] = None  # type: ignore[assignment]
    try:
        importlib.import_module("msgspec")
    finally:
        del sys.modules[hidden]


def _report(error: Exception) -> int:
    """Print an error as one line and return its exit code."""
    if os.environ.get("METALOG_DEBUG"):
        import traceback

        traceback.print_exception(error)
    from records.errors import MetadataLogError

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
                return _fail("IO", message, REFUSED)
            return _fail("IO", message, UNAVAILABLE, _UNKNOWN)
        case _:
            return _fail(
                "INTERNAL",
                f"{type(error).__name__}: {error}; this is a mistake of ours: run again with "
                "`metalog --debug` and report what it prints",
                REFUSED,
                _UNKNOWN,
            )


def _fail_with(error: "MetadataLogError") -> int:
    """Print an error with its outcome; an unknown outcome is never shown as a plain refusal."""
    from records.errors import CorruptLogError, FencedError, Outcome, RequestError

    match error:
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
    return _fail(code, message, exit_code, error.outcome.value, error.done_to)


def wants_json(arguments: list[str]) -> bool:
    """True if the command line asks for JSON; checked before the line is validated."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def error_document(
    code: str, message: str, outcome: str = _NOTHING, done_to: int | None = None
) -> dict[str, Any]:
    """Return an error as JSON.

    Args:
        outcome: A `records.errors.Outcome`.
        done_to: Offset of the last committed record, for a partial outcome.
    """
    return {"code": code, "message": message, "outcome": outcome, "done_to": done_to}


def print_error(
    code: str, message: str, outcome: str = _NOTHING, done_to: int | None = None
) -> None:
    """Print an error as one line on standard error; under --json as a document."""
    from api.cli.output import plain

    text = " ".join(message.split())
    if _ERRORS_AS_JSON.get():
        import json

        line = json.dumps(error_document(code, text, outcome, done_to), ensure_ascii=False)
    else:
        line = f"error: {code}: {plain(text)}"
    sys.stderr.write(f"{line}\n")


def _fail(
    code: str,
    message: str,
    exit_code: int,
    outcome: str = _NOTHING,
    done_to: int | None = None,
) -> int:
    print_error(code, message, outcome, done_to)
    return exit_code


def _foreign_package() -> str | None:
    """Check that no other distribution's package hides one of ours, because the names are common
    words.
    """
    root = Path(__file__).resolve().parents[2]
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        found = Path(spec.origin).resolve().parents[1] if spec and spec.origin else None
        if found != root:
            return (
                f"package {package} comes from {found}, expected {root}; install metadata-log "
                "in an environment of its own"
            )
    return None
