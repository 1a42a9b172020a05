"""A real S3 server in a separate process, on a free port of the loopback address.

The environment variable `S3_STORE` chooses it: `moto`, the default, or `seaweedfs`.
"""

import contextlib
import http.client
import http.server
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.ports import free_port
from tests.seaweedfs import seaweedfs_server

_START_TIMEOUT_S = 60
_HOST = "127.0.0.1"
_E_TAG = re.compile(rb"<ETag>.*?</ETag>")


def s3_server() -> contextlib.AbstractContextManager[str]:
    """Run the chosen server; yield its URL, and end the process afterwards."""
    servers = {"moto": moto_server, "seaweedfs": seaweedfs_server}
    return servers[os.environ.get("S3_STORE", "moto")]()


@contextlib.contextmanager
def moto_server(host: str = _HOST, within: tuple[str, ...] = ()) -> Iterator[str]:
    """Run moto; yield its URL, and end the process afterwards.

    Args:
        host: Its address, or one of them if it is on another machine.
        within: Words before its command: those that run it on another machine (root only).
    """
    port = free_port()
    bound = "0.0.0.0" if within else host
    server = subprocess.Popen(
        [*within, sys.executable, "-m", "tests.moto_server", bound, str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_open(server, (host, port))
        yield f"http://{host}:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def environment(url: str) -> dict[str, str]:
    """Return the environment variables for a client; the server accepts any credentials."""
    return {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": url,
    }


@contextlib.contextmanager
def client_of(url: str) -> Iterator[None]:
    """Make clients in this process use a server, for a fixture with a wider scope than a test."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(url).items():
            patch.setenv(name, value)
        yield


def new_place(url: str) -> str:
    """Make a bucket; return the URL of an empty place in it."""
    bucket = f"bucket-{uuid.uuid4().hex}"
    request = urllib.request.Request(f"{url}/{bucket}", method="PUT")
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200
    return f"s3://{bucket}/logs/first"


@dataclass
class Requests:
    """The requests to an S3 server, in order: (method, object name, bytes in the response)."""

    url: str
    made: list[tuple[str, str, int]] = field(default_factory=list)

    def bytes_of(self, suffix: str) -> int:
        """Return the number of bytes received from objects whose names end with `suffix`."""
        return sum(size for _, name, size in self.made if name.endswith(suffix))


@contextlib.contextmanager
def counted(url: str, *, lists_e_tags: bool = True) -> Iterator[Requests]:
    """Run a proxy in front of an S3 server that counts requests and responses.

    Args:
        lists_e_tags: False to answer like a store whose listings have no ETags.
    """
    upstream = urllib.parse.urlsplit(url)
    assert upstream.hostname

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            server = http.client.HTTPConnection(str(upstream.hostname), upstream.port, timeout=30)
            with contextlib.closing(server):
                server.request(self.command, self.path, body, dict(self.headers))
                answer = server.getresponse()
                content = answer.read()
            name = urllib.parse.urlsplit(self.path).path.rpartition("/")[2]
            requests.made.append((self.command, name, len(content)))
            if not lists_e_tags:
                content = _E_TAG.sub(lambda found: b" " * len(found[0]), content)
            self.send_response(answer.status)
            for key, value in answer.getheaders():
                if key.lower() not in ("transfer-encoding", "connection", "date", "server"):
                    self.send_header(key, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _forward  # noqa: N815

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    proxy = http.server.ThreadingHTTPServer((_HOST, 0), Handler)
    proxy.daemon_threads = True
    requests = Requests(f"http://{_HOST}:{proxy.server_address[1]}")
    thread = threading.Thread(target=proxy.serve_forever)
    thread.start()
    try:
        yield requests
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()


def _wait_until_open(server: "subprocess.Popen[bytes]", address: tuple[str, int]) -> None:
    end = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < end:
        assert server.poll() is None, f"the S3 server ended with {server.returncode}"
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"the S3 server did not start within {_START_TIMEOUT_S} s")
