"""`metalog`: the commands, and what becomes of errors.

Only typer is imported here; each command imports what it needs when it runs, so that
`metalog --help` is quick.
"""

import errno
import importlib.util
import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import core, exceptions


class _Interrupted(Exception):
    """A command was interrupted; says what became of it, if it knows."""


class _Commands(core.TyperGroup):
    """Typer would end the process without a word."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().make_context(*args, **kwargs)
        except KeyboardInterrupt as interrupt:
            # To read its arguments typer imports what takes a third of a second.
            raise _Interrupted("stopped before anything was done") from interrupt

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise _Interrupted(str(interrupt)) from interrupt


app = typer.Typer(
    name="metalog",
    cls=_Commands,
    help="Keep, replay and debug the metadata log of a cluster.",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

# The order is that of `metalog --help`.
_MODULES = (
    "keeping",
    "importing",
    "streaming",
    "looking",
    "past",
    "snapshots",
    "caring",
    "copying",
    "auditing",
    "serving",
    "administering",
)
_PACKAGES = ("records", "metadata_log", "replay", "controller", "api", "migrations")

# The machine refuses what was asked for, and would do so again: a wrong path, a missing permission.
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


def need_command(context: typer.Context) -> None:
    """Print a group's help when it is called without a command: that is wrong usage."""
    if context.invoked_subcommand is None:
        sys.stderr.write(context.get_help() + "\n")
        raise typer.Exit(USAGE)


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    if debug:
        os.environ["METALOG_DEBUG"] = "1"
    need_command(context)
    level = logging.INFO if debug else logging.WARNING
    logging.basicConfig(format="%(levelname)s: %(message)s", level=level)


def run(arguments: list[str]) -> int:
    """Run one command; return its exit code."""
    stranger = _foreign_package()
    if stranger:
        return _fail("INSTALLATION", stranger, USAGE)
    load_commands()
    try:
        result = app(arguments, prog_name="metalog", standalone_mode=False)
    except exceptions.Exit as exit_:
        return exit_.exit_code
    except exceptions.TyperException as error:
        return _fail("USAGE", f"{error.format_message().rstrip('.')}; see `metalog --help`", USAGE)
    except (exceptions.Abort, KeyboardInterrupt, _Interrupted) as interrupt:
        return _fail("INTERRUPTED", str(interrupt) or _STOPPED, 130)
    except SystemExit as exit_:
        # Typer turns a broken pipe into this: the reader of our output has seen enough. Python
        # would still complain when it flushes.
        if not isinstance(exit_.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        return _report(error)
    return result if isinstance(result, int) else DONE


def load_commands() -> None:
    """Let every module add its commands."""
    for module in _MODULES:
        importlib.import_module(f"api.cli.{module}")


def _report(error: Exception) -> int:
    """Turn an error into one line and an exit code."""
    if os.environ.get("METALOG_DEBUG"):
        import traceback

        traceback.print_exception(error)
    from records.errors import CorruptLogError, FencedError, RequestError, UnavailableError

    match error:
        case RequestError():
            return _fail(error.code, str(error), REFUSED)
        case CorruptLogError():
            return _fail("CORRUPT", str(error), CORRUPT)
        case FencedError():
            return _fail("FENCED", str(error), UNAVAILABLE)
        case UnavailableError():
            return _fail("UNAVAILABLE", str(error), UNAVAILABLE)
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            refused = error.errno in _WRONG_PATH
            next_ = (
                "check the path and its permissions" if refused else "try again when it is mended"
            )
            message = f"{where}{error.strerror or error}; {next_}"
            return _fail("IO", message, REFUSED if refused else UNAVAILABLE)
        case _:
            return _fail(
                "INTERNAL",
                f"{type(error).__name__}: {error}; this is a mistake of ours: run again with "
                "`metalog --debug` and report what it prints",
                REFUSED,
            )


def print_error(code: str, message: str) -> None:
    """Print an error as its one line."""
    from api.cli.output import plain

    sys.stderr.write(f"error: {code}: {plain(' '.join(message.split()))}\n")


def _fail(code: str, message: str, exit_code: int) -> int:
    print_error(code, message)
    return exit_code


def _foreign_package() -> str | None:
    """Check that no other distribution's package hides one of ours: the names are common words."""
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
