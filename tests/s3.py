"""A real S3 server in a process of its own, on a free port of the loopback address."""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

_START_TIMEOUT_S = 60
_HOST = "127.0.0.1"


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """Run moto's server; yield its URL, and end the process afterwards."""
    with socket.socket() as free:
        free.bind((_HOST, 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", _HOST, "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_open(server, port)
        yield f"http://{_HOST}:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def environment(url: str) -> dict[str, str]:
    """What a client needs to know; the server takes any credentials."""
    return {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": url,
    }


def make_bucket(url: str, name: str) -> None:
    """Make an empty bucket."""
    request = urllib.request.Request(f"{url}/{name}", method="PUT")
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200


def _wait_until_open(server: "subprocess.Popen[bytes]", port: int) -> None:
    end = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < end:
        assert server.poll() is None, f"the S3 server ended with {server.returncode}"
        with contextlib.suppress(OSError), socket.create_connection((_HOST, port), timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"the S3 server did not start within {_START_TIMEOUT_S} s")
