"""xdist's workers, forked from a process that has collected all tests.

Importing takes most of what a worker needs to collect its tests, and without bytecode each of them
would compile every module.
"""

import signal
import sys

import pytest

from tests.fork_server import serve

# Python knows no such option and ignores it: it marks what may be forked.
WORKER = (sys.executable, "-X", "forked-worker")

_NOT_BEFORE_A_FORK = "duckdb"
"""It starts a thread when it is imported, and a forked process waits at its end for that thread."""


def main() -> None:
    """Collect the tests; in a forked process, run the program that execnet passes to Python."""
    pytest.main([*sys.argv[2:], "--collect-only", "--numprocesses=0"])
    if _NOT_BEFORE_A_FORK in sys.modules:
        sys.exit(f"tests must import {_NOT_BEFORE_A_FORK} in functions: see {__file__}")
    arguments = serve(int(sys.argv[1]))
    if arguments is not None:
        # The server ignores Ctrl-C, and programs that a test starts would inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        exec(arguments[-1], {"__name__": "__main__"})


if __name__ == "__main__":
    main()
