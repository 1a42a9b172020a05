"""`metalog`: runs one command.

A command's module is imported when the command runs, and imports that only some commands of a
module need are inside functions, because imports take most of a short run. typer is imported only
for command lines that `quick` does not parse.
"""

import importlib.util
import itertools
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from api.cli.commands import COMMANDS, modules_of
from api.cli.parser.quick import quick_call
from api.cli.terminal.errors import (
    DONE,
    ERRORS_AS_JSON,
    STOPPED,
    UNKNOWN,
    USAGE,
    Interrupted,
    NothingDone,
    configure_logging,
    fail,
    interruptible,
    report,
    wants_json,
)
from records.command_names import LOGGED_NAMES

_PACKAGES = ("records", "metadata_log", "replay", "controller", "api")


def run(arguments: list[str]) -> int:
    """Run one command; return its exit code."""
    ERRORS_AS_JSON.set(wants_json(arguments))
    stranger = _foreign_package()
    if stranger:
        return fail("INSTALLATION", stranger, USAGE)
    arguments = _with_verb(arguments)
    load_commands(arguments)
    try:
        call = quick_call(arguments)
        result = _by_typer(arguments) if call is None else _at_once(call, arguments)
    except NothingDone as interrupt:
        return fail("INTERRUPTED", str(interrupt), 130)
    except (KeyboardInterrupt, Interrupted) as interrupt:
        return fail("INTERRUPTED", str(interrupt) or STOPPED, 130, UNKNOWN)
    except BrokenPipeError:
        # The reader has closed our output. Python would still complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        return report(error)
    return result if isinstance(result, int) else DONE


def _with_verb(arguments: list[str]) -> list[str]:
    """Return the arguments; a command given by its name in logs is replaced by the verb."""

    start = len(_global_options(arguments))
    # A quorum's address stands where the kind of another source does.
    if arguments[start : start + 1] == ["import"] and "://" in "".join(arguments[start + 1 :][:1]):
        return [*arguments[: start + 1], "kafka", *arguments[start + 1 :]]
    for verb, logged in LOGGED_NAMES.items():
        end = start + len(logged.split())
        if arguments[start:end] == logged.split():
            return [*arguments[:start], *verb.split(), *arguments[end:]]
    return arguments


def _global_options(arguments: Sequence[str]) -> list[str]:
    return list(itertools.takewhile(lambda argument: argument == "--debug", arguments))


def _by_typer(arguments: list[str]) -> Any:
    from api.cli.app import run_app

    return run_app(arguments)


def _at_once(call: partial[Any], arguments: list[str]) -> Any:
    configure_logging(debug=False)
    try:
        with interruptible(call.func):
            return call()
    except Exception as error:
        typer = sys.modules.get("typer.exceptions")
        if typer is None or not isinstance(error, typer.TyperException):
            raise
        # The command refused its parameters before it did anything; typer has the words for that.
        return _by_typer(arguments)


def load_commands(arguments: Sequence[str] = ()) -> None:
    """Register the command to run, by importing its modules.

    If the command's name is unknown, registers all commands except those of nouns.
    """
    options = _global_options(arguments)
    command = arguments[len(options)] if len(options) < len(arguments) else None
    if command in COMMANDS:
        _import_msgspec()
        modules = modules_of(command)
    else:
        modules = tuple(f"api.cli.{row}" for row in COMMANDS.values() if isinstance(row, str))
    for module in modules:
        importlib.import_module(module)


def _import_msgspec() -> None:
    """Import msgspec while hiding typing_extensions from it.

    On our Python versions msgspec does not need it, and importing it takes longer than msgspec
    itself.
    """
    hidden = "typing_extensions"
    if "msgspec" in sys.modules or hidden in sys.modules:
        return
    sys.modules[hidden] = None  # type: ignore[assignment]
    try:
        importlib.import_module("msgspec")
    finally:
        del sys.modules[hidden]


def _foreign_package() -> str | None:
    """Return an error text if another distribution's package shadows one of ours, else None.

    Package names such as `api` are common words.
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
