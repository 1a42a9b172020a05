"""Unix sockets: only the user of this process and root can connect, and the system says who did."""

import contextlib
import os
import pwd
import socket
import stat
import struct
from pathlib import Path

from records.errors import UnavailableError

UNIX = "unix:"
"""Before the path of a unix socket."""

_CREDENTIALS = struct.Struct("3i")


def listening_at(path: Path) -> socket.socket:
    """Return a listening socket of mode 0600; a dead one in its place is replaced.

    Raises:
        UnavailableError: another process listens there, or the path cannot be made.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if _is_dead(path):
            path.unlink()
        before = os.umask(0o177)
        try:
            listening.bind(str(path))
        finally:
            os.umask(before)
        listening.listen()
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise UnavailableError(f"cannot listen on {path}: {error.strerror or error}") from error
    return listening


def _is_dead(path: Path) -> bool:
    """True for a socket on which nobody listens any more."""
    if not path.exists() or not stat.S_ISSOCK(path.lstat().st_mode):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return True
    return False


def close_listening(listening: socket.socket) -> None:
    """Close a listening socket of any kind, and remove the file of a unix socket."""
    path = listening.getsockname() if listening.family == socket.AF_UNIX else None
    listening.close()
    if path is not None:
        with contextlib.suppress(OSError):
            os.unlink(path)


def peer_user(connection: socket.socket) -> str | None:
    """Return the name of the user that connected to a unix socket, by the operating system.

    None for other sockets, and where the system does not say. A user without a name has its number.
    """
    if connection.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
        return None
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, _ = _CREDENTIALS.unpack(raw)
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
