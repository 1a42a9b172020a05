"""Entry point: sets up signals and standard streams, and only then imports the rest.

Imports take most of a short run. Nothing is written before they are complete, so an interrupt
during the imports simply ends the process.
"""

import gc
import io
import os
import signal
import sys

_RELOADING = ("serve", "broker", "view", "mcp", "record")


def main() -> None:
    """Entry point of the command."""
    signal.signal(signal.SIGINT, _leave)
    _defer_hangups()
    _open_standard_streams()
    _write_utf8()
    from api.cli.main import load_commands, run
    from api.garbage import collect_seldom

    load_commands(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    collect_seldom()
    code = run(sys.argv[1:])
    # Collecting what is left when the interpreter ends takes a tenth of a short run.
    gc.freeze()
    sys.exit(code)


def _defer_hangups() -> None:
    """Block SIGHUP, for commands that reload files on it, until `renewed_by_signal` handles it.

    If it were not blocked, a reload right after the start would end the process.
    """
    words = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if words and words[0] in _RELOADING:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})


def _leave(_signal: int, _frame: object) -> None:
    # Exit directly: an exception inside an import can surface in a destructor, which prints it.
    what = b"stopped before anything was done"
    if "--json" in sys.argv:
        line = b'{"code": "INTERRUPTED", "message": "%s", "outcome": "nothing", "done_to": null}\n'
    else:
        line = b"error: INTERRUPTED: %s\n"
    os.write(2, line % what)
    os._exit(130)


def _write_utf8() -> None:
    """Write UTF-8 in every locale: JSON requires it, and unprintable names must not end the run."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _open_standard_streams() -> None:
    """Open standard streams that the caller closed.

    If they stayed closed, the next opened file, perhaps a segment, would get a stream's descriptor,
    and output, for example of Java, would be written to the log.
    """
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.dup(descriptor)
    os.close(descriptor)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
