"""`metalog` in processes forked from one that has imported it.

A test starts `[*METALOG, "serve", ...]`. When it ends, the process waits for threads, calls the
functions registered with `atexit` and flushes its streams, but runs no destructors. Tests of the
start itself run `python -m api.cli`, and so does the story of a secured cluster.

A service in the process of a test gets the process that answers its questions from here, too; one
in a process of its own starts Python for it.
"""

import atexit
import contextlib
import importlib
import logging
import os
import sys
from contextlib import AbstractContextManager

import alembic.config

from api.cli import entry
from api.cli.main import run
from api.cli.terminal import progress_bar
from api.questions import worker
from tests import fork_server

# Python knows no such option and ignores it: it marks what may be forked.
METALOG = (sys.executable, "-X", "forked", "-m", "api.cli")

ALEMBIC = (sys.executable, "-X", "forked", "-m", "alembic")

_QUESTIONS = (sys.executable, "-P", "-m", worker.__name__)

BARS_AT_ONCE = "METALOG_TEST_BARS_AT_ONCE"
"""A variable that makes a forked command show its progress bars from the first step on."""


def forking() -> AbstractContextManager[None]:
    """Fork `metalog`, `alembic` and what answers a service's questions, while the body runs."""
    return fork_server.forking((METALOG, ALEMBIC, _QUESTIONS), "tests.forked_commands")


def main() -> None:
    """Serve requests; in a forked process, run the command as if Python had just started."""
    codes: list[int] = []
    # Registered before all that is imported now, so called after all of it.
    atexit.register(_leave, codes)
    importlib.import_module("tests.loaded_commands")
    # Also makes the parser of the command line.
    run(["serve", "--help"])
    # It set up logging, too, which each command does for itself.
    logging.getLogger().handlers.clear()
    arguments = fork_server.serve(int(sys.argv[1]))
    if arguments is None:
        return
    try:
        _run(*arguments)
        sys.exit()
    except SystemExit as ended:
        codes.append(int(ended.code or 0))
        raise


def _run(module: str, *arguments: str) -> None:
    """Run a module that is named in one of the markers, as `python -m` does."""
    if module == worker.__name__:
        worker.main(*arguments)
    elif module == "alembic":
        alembic.config.main(arguments, prog=module)
    else:
        sys.argv = ["metalog", *arguments]
        if BARS_AT_ONCE in os.environ:
            progress_bar.DELAY_S = 0.0
        entry.main()


def _leave(codes: list[int]) -> None:
    """Exit a command right before Python would destroy its modules.

    That would write to each page shared with the server, and so copy it: two thirds of the CPU time
    of a short command.
    """
    if not codes:
        return
    logging.shutdown()
    # What cannot be written is reported by Python itself, which gives another exit code.
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(codes[0])


if __name__ == "__main__":
    main()
