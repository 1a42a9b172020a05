"""Unix sockets, to which only root and this process's user can connect.

The operating system reports the user of each connection.
"""

import contextlib
import errno
import os
import pwd
import socket
import stat
import struct
from pathlib import Path

from records.errors import UnavailableError

UNIX = "unix:"
"""Prefix of the path of a unix socket in an address."""

_CREDENTIALS = struct.Struct("3i")


class Listening(socket.socket):
    """A listening unix socket; `close` also removes the socket's file."""

    def __init__(self) -> None:
        super().__init__(socket.AF_UNIX, socket.SOCK_STREAM)
        self._path: Path | None = None
        self._made: tuple[int, int] | None = None

    def listen_at(self, path: Path) -> None:
        """Listen on a path with mode 0600; replace a socket file on which no process listens.

        Raises:
            OSError: another process listens there, or the path cannot be created.
        """
        if _is_dead(path):
            path.unlink()
        before = os.umask(0o177)
        try:
            self.bind(str(path))
        finally:
            os.umask(before)
        self._path = path.absolute()
        self._made = _identity(path)
        self.listen()
        self.setblocking(False)

    def close(self) -> None:
        """Stop listening, and remove the file unless it was replaced by another one."""
        super().close()
        path, self._path = self._path, None
        if path is not None and _identity(path) == self._made:
            with contextlib.suppress(OSError):
                path.unlink()


def listening_at(path: Path) -> Listening:
    """Return a socket that listens at a path.

    Raises:
        UnavailableError: another process listens there, or the path cannot be created.
    """
    listening = Listening()
    try:
        listening.listen_at(path)
    except OSError as error:
        listening.close()
        raise UnavailableError(f"cannot listen on {path}: {_problem(path, error)}") from error
    return listening


def _problem(path: Path, error: OSError) -> str:
    """Return why a path cannot be listened on, in words."""
    if error.errno != errno.EADDRINUSE:
        return error.strerror or str(error)
    if _is_socket(path):
        return "it is in use by another process; end that, or choose another path"
    return "it is in use by something that is no socket; remove that, or choose another path"


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode number of the file at a path; None if there is no file."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_socket(path: Path) -> bool:
    """True if there is a socket at the path itself, not behind a link."""
    try:
        return stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _is_dead(path: Path) -> bool:
    """True if the path is a socket on which no process listens."""
    if not _is_socket(path):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        # A stopped process accepts nothing: once its queue is full, connecting would block.
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return True
        except BlockingIOError:
            return False
    return False


def peer_user(connection: socket.socket) -> str | None:
    """Return the user who connected to a unix socket, as the operating system reports it.

    Returns:
        The user's name, or user id if the user has no name. None if the socket is not a unix
        socket, or the system does not report the user.
    """
    if connection.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
        return None
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, _ = _CREDENTIALS.unpack(raw)
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
