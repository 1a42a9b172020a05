"""Runs `metalog` in a terminal of a given width."""

import errno
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(
    *arguments: object,
    columns: int = 80,
    with_errors: bool = False,
    typed: str = "",
    stop_at: str = "",
    **environment: str,
) -> str:
    """Return what a command prints on a terminal's standard output, without colours.

    Args:
        typed: The input typed by the user; it must end the command.
        stop_at: When this is printed, the command is interrupted.
        with_errors: Also return standard error, where progress bars are shown.
        environment: Further variables.
    """
    terminal, ours = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        [sys.executable, "-m", "api.cli", *map(str, arguments)],
        stdin=ours,
        stdout=ours,
        stderr=ours if with_errors else subprocess.DEVNULL,
        env={**inherited, "TERM": "xterm", **environment},
    )
    os.close(ours)
    os.write(terminal, typed.encode())
    shown = _read_all(terminal, process, stop_at.encode())
    process.wait()
    return _COLOUR.sub("", shown.decode()).replace("\r\n", "\n")


def _read_all(terminal: int, process: "subprocess.Popen[bytes]", stop_at: bytes) -> bytes:
    shown = b""
    try:
        while chunk := os.read(terminal, 65_536):
            shown += chunk
            if stop_at and stop_at in shown:
                process.send_signal(signal.SIGINT)
                stop_at = b""
    except OSError as error:
        if error.errno != errno.EIO:  # Linux: the other side was closed
            raise
    finally:
        os.close(terminal)
    return shown
