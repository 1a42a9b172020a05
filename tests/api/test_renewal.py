"""SIGHUP: a running service reads its files again; invalid files change nothing."""

import asyncio
import contextlib
import hashlib
import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from api.security.certificates import decode_certificate
from api.security.tls import TlsFiles
from api.transport.renewal import PAUSE_S, Use, renewed_by_signal
from controller.authorization.authorizer import Operation, ResourceType
from metadata_log.writer.creation import create_log
from tests.api.services import Served, serving
from tests.certificates import Authority

# Anonymous: the broker, which has no certificate of its own for the service.
SUPER_USERS = ("User:ann", "User:bob", "User:ANONYMOUS")
RIGHTS = ("--authorizer", "acl", *(f"--super-user={each}" for each in SUPER_USERS))


class At:
    """A service with TLS on all listeners, and its files."""

    def __init__(self, directory: Path) -> None:
        self.ca = Authority(directory)
        self.certificate, self.key = directory / "now.pem", directory / "now.key"
        self.tokens = directory / "tokens"
        self.install(self.ca.issue("old"))
        self.know("ann")
        self.served: Served

    def install(self, files: TlsFiles) -> None:
        assert files.certificate is not None and files.key is not None
        shutil.copy(files.certificate, self.certificate)
        shutil.copy(files.key, self.key)

    def know(self, *names: str) -> None:
        lines = [f"{name}:{hashlib.sha256(name.encode()).hexdigest()}\n" for name in names]
        self.tokens.write_text("".join(lines))

    def reload(self) -> None:
        self.served.process.send_signal(signal.SIGHUP)

    def shown(self) -> dict[str, str]:
        """Return the name in the certificate of each listener."""
        return {
            each: _common_name(getattr(self.served, each), self.ca.path)
            for each in ("kafka", "socket", "http")
        }

    def asking(self, token: str) -> httpx.Client:
        return httpx.Client(
            base_url=self.served.http,
            headers={"Authorization": f"Bearer {token}"},
            verify=ssl.create_default_context(cafile=str(self.ca.path)),
            timeout=30,
        )

    def status(self, token: str) -> int:
        with self.asking(token) as client:
            return client.get("/v1/info").status_code


def _common_name(url: str, ca: Path) -> str:
    host, _, port = url.rpartition("//")[2].rpartition(":")
    with ssl.create_default_context(cafile=str(ca)).wrap_socket(
        socket.create_connection((host, int(port))), server_hostname=host
    ) as connection:
        der = connection.getpeercert(binary_form=True)
    assert der is not None
    return decode_certificate(der).subject.partition(",")[0].removeprefix("CN=")


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[At]:
    directory = tmp_path_factory.mktemp("renewal")
    create_log(directory / "log", "renewed")
    found = At(directory)
    with serving(
        directory / "log",
        *RIGHTS,
        *("--certificate-file", found.certificate, "--key-file", found.key),
        *("--http", "https://127.0.0.1:0", "--http-tokens", found.tokens),
        kafka="ssl://127.0.0.1:0",
        socket="ssl://127.0.0.1:0",
    ) as found.served:
        yield found


def until(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_done():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_new_files_are_used_after_a_signal(at: At) -> None:
    assert at.shown() == dict.fromkeys(("kafka", "socket", "http"), "old")
    at.install(at.ca.issue("new"))
    at.know("ann", "bob")
    assert at.status("bob") == 401
    at.reload()
    until(lambda: at.shown() == dict.fromkeys(("kafka", "socket", "http"), "new"))
    assert [at.status(token) for token in ("ann", "bob", "cat")] == [200, 200, 401]


@pytest.mark.parametrize("wrong", ["certificate", "key", "tokens"])
def test_a_wrong_file_changes_nothing_and_is_named_in_one_line(at: At, wrong: str) -> None:
    before = at.shown()
    kept = {path: path.read_bytes() for path in (at.certificate, at.key, at.tokens)}
    at.install(at.ca.issue("never"))
    at.know("cat")
    getattr(at, wrong).write_text("nothing")
    at.reload()
    stderr = at.served.process.stderr
    assert stderr is not None
    line = next(line for line in stderr if "nothing is changed" in line)
    assert line.startswith("ERROR: SIGHUP: nothing is changed: ")
    assert str(getattr(at, wrong)) in line
    assert (at.shown(), at.status("ann"), at.status("cat")) == (before, 200, 401)
    for path, content in kept.items():
        path.write_bytes(content)


def test_a_stream_of_events_ends_with_its_token(at: At) -> None:
    at.know("ann", "bob")
    at.reload()
    until(lambda: at.status("bob") == 200)
    with (
        at.asking("ann") as ann,
        at.asking("bob") as bob,
        bob.stream("GET", "/v1/events") as events,
    ):
        lines = events.iter_lines()
        assert next(lines).startswith(": from offset")
        at.know("ann")
        at.reload()
        until(lambda: at.status("bob") == 401)
        note = {"at_offset": 0, "text": "not for bob"}
        assert ann.post("/v1/notes/add", json=note).status_code == 200
        rest = "\n".join(lines)
    assert "AUTHENTICATION_FAILED" in rest
    assert "not for bob" not in rest


def test_a_stream_of_events_ends_with_the_right_to_take_an_identity(at: At) -> None:
    at.know("ann", "cat")
    at.reload()
    until(lambda: at.status("cat") == 403)
    right = {
        "principal": "User:cat",
        "resource_type": ResourceType.USER.value,
        "resource_name": "User:ann",
        "operation": Operation.CREATE_TOKENS.value,
    }
    with at.asking("ann") as ann, at.asking("cat") as cat:
        assert ann.post("/v1/acls/create", json={"acls": [right]}).status_code == 200
        with cat.stream("GET", "/v1/events", params={"as": "User:ann"}) as events:
            lines = events.iter_lines()
            assert next(lines).startswith(": from offset")
            gone = ann.post("/v1/acls/delete", json={"filters": [{"principal": "User:cat"}]})
            assert gone.status_code == 200
            rest = "\n".join(lines)
    assert "User:cat may not CREATE_TOKENS the user 'User:ann'" in rest
    assert "RemoveAccessControlEntryRecord" not in rest


async def test_signals_in_a_row_are_two_readings(caplog: pytest.LogCaptureFixture) -> None:
    reads: list[float] = []
    used = asyncio.Event()
    now = asyncio.get_running_loop().time

    def read() -> Use:
        reads.append(now())
        return used.set

    with renewed_by_signal() as renewal:
        renewal.add(read)
        renewal.begin()
        for _ in range(100):
            signal.raise_signal(signal.SIGHUP)
        await used.wait()
        used.clear()
        # Of files that changed after the first reading.
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
        await used.wait()
    assert len(reads) == 2
    assert reads[1] - reads[0] > PAUSE_S / 2
    assert len(caplog.records) == 2


async def test_signal_during_the_start_is_acted_on_when_all_is_known() -> None:
    is_read = asyncio.Event()

    def read() -> Use:
        is_read.set()
        return lambda: None

    with renewed_by_signal() as renewal:
        signal.raise_signal(signal.SIGHUP)
        await asyncio.sleep(0)
        renewal.add(read)
        renewal.begin()
        await is_read.wait()


def survives_hangups(process: "subprocess.Popen[str]") -> bool:
    """True if the process blocks or handles SIGHUP."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    masks = [line.split()[1] for line in status.splitlines() if line[:7] in ("SigBlk:", "SigCgt:")]
    return any(int(mask, 16) & 1 << signal.SIGHUP - 1 for mask in masks)


def lines_until(process: "subprocess.Popen[str]", word: str) -> None:
    assert process.stderr is not None
    assert any(word in line for line in process.stderr), f"ended with {process.wait()}"


@contextlib.contextmanager
def started(*command: object) -> Iterator["subprocess.Popen[str]"]:
    """Run a command, and send it a SIGHUP before it has imported its modules."""
    with subprocess.Popen(
        [sys.executable, "-m", "api.cli", *map(str, command), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            until(lambda: survives_hangups(process))
            process.send_signal(signal.SIGHUP)
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=60)
    assert process.returncode == 0


def test_service_that_starts_survives_a_signal(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "renewed")
    with started("serve", tmp_path / "log", "--kafka", "127.0.0.1:0") as process:
        lines_until(process, "were read again")


def test_broker_reads_its_files_again_also_while_it_starts(at: At, tmp_path: Path) -> None:
    files = at.ca.issue("first")
    assert files.certificate is not None and files.key is not None
    options = ("--certificate-file", files.certificate, "--key-file", files.key)
    with started(
        *("broker", "--server", at.served.kafka, "--id", 1, "--log-dir", tmp_path / "broker"),
        *("--listen", "ssl://127.0.0.1:0", "--ca-file", at.ca.path, *options),
    ) as process:
        lines_until(process, "were read again")
        assert process.stdout is not None
        listen = json.loads(process.stdout.readline())["listen"]
        assert _common_name(listen, at.ca.path) == "first"
        at.ca.issue("second")
        shutil.copy(files.certificate.with_stem("second"), files.certificate)
        shutil.copy(files.key.with_stem("second"), files.key)
        process.send_signal(signal.SIGHUP)
        until(lambda: _common_name(listen, at.ca.path) == "second")


def test_pages_name_the_listener_as_commands_take_it(at: At) -> None:
    with at.asking("ann") as ann:
        columns = ann.get("/v1/report/columns")
    assert columns.headers["metalog-server"] == at.served.kafka
    assert at.served.kafka.startswith("ssl://127.0.0.1:")
