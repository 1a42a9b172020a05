"""A proxy in front of an S3 server that loses, repeats and delays PUTs."""

import contextlib
import http.client
import http.server
import threading
import urllib.parse
from collections.abc import Iterator
from typing import NamedTuple

_HOST = "127.0.0.1"


class _Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class FaultyS3:
    """The proxy, and what it is to do.

    Attributes:
        url: Where clients find it.
        requests: Method and object name of each request so far.
        next_put: What happens to the next PUT: `twice` (the answer is that of the second),
            `no answer` and `error after` (it arrives), `dropped`, `conflict` and `error before` (it
            does not), or `late` (it arrives with `deliver`).
        flip: An object whose bytes come back damaged.
        ignores: Headers that the store does not know, in lower case.
        looks_first: The store looks whether a condition is met, and writes later, without it.
        refuses: A query that the client has no right to send.
    """

    def __init__(self, upstream: str) -> None:
        self._upstream = urllib.parse.urlsplit(upstream)
        self._late: list[_Request] = []
        self._server = http.server.ThreadingHTTPServer((_HOST, 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://{_HOST}:{self._server.server_address[1]}"
        self.requests: list[tuple[str, str]] = []
        self.next_put: str | None = None
        self.flip: str | None = None
        self.ignores: frozenset[str] = frozenset()
        self.looks_first = False
        self.refuses: str | None = None
        self._both_looked = threading.Barrier(2, timeout=10)
        self._is_stopped = False

    def stop(self) -> None:
        """Answer nobody any more."""
        self._is_stopped = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def deliver(self) -> None:
        """Let the PUTs arrive that are late."""
        late, self._late = self._late, []
        for request in late:
            self.forward(request)

    def forward(self, request: _Request) -> tuple[int, list[tuple[str, str]], bytes]:
        """Send a request to the server; return its status, headers and body."""
        server = http.client.HTTPConnection(
            str(self._upstream.hostname), self._upstream.port, timeout=30
        )
        with contextlib.closing(server):
            headers = {k: v for k, v in request.headers.items() if k.lower() not in self.ignores}
            server.request(request.method, request.path, request.body, headers)
            answer = server.getresponse()
            return answer.status, answer.getheaders(), answer.read()

    def answer(self, request: _Request) -> tuple[int, list[tuple[str, str]], bytes] | None:
        """Return the answer to a request, with its fault; None for no answer."""
        if self._is_stopped:
            return None
        name = urllib.parse.urlsplit(request.path).path
        self.requests.append((request.method, name))
        fault = None
        if request.method == "PUT":
            fault, self.next_put = self.next_put, None
        match fault:
            case "dropped":
                return None
            case "conflict":
                return 409, [], b"<Error><Code>ConditionalRequestConflict</Code></Error>"
            case "error before":
                return 503, [], b"<Error><Code>SlowDown</Code></Error>"
            case "late":
                self._late.append(request)
                return None
        if self.refuses is not None and self.refuses in request.path:
            return 403, [], b"<Error><Code>AccessDenied</Code></Error>"
        found = self._late_write(request) if self.looks_first else self.forward(request)
        match fault:
            case "twice":
                return self.forward(request)
            case "no answer":
                return None
            case "error after":
                return 500, [], b"<Error><Code>InternalError</Code></Error>"
        status, headers, body = found
        if self.flip is not None and name.endswith(self.flip) and body:
            body = body[:-1] + bytes([body[-1] ^ 1])
        return status, headers, body

    def _late_write(self, request: _Request) -> tuple[int, list[tuple[str, str]], bytes]:
        """Look for two clients that write with a condition, then let both write without it."""
        wanted = {k.lower(): v for k, v in request.headers.items()}
        if request.method != "PUT" or wanted.keys().isdisjoint(("if-match", "if-none-match")):
            return self.forward(request)
        look = _Request("HEAD", request.path, {"Host": wanted["host"]}, b"")
        status, headers, _ = self.forward(look)
        found = {k.lower(): v for k, v in headers}["etag"] if status == 200 else None
        self._both_looked.wait()
        if found != wanted.get("if-match"):
            return 412, [], b"<Error><Code>PreconditionFailed</Code></Error>"
        free = {k: v for k, v in request.headers.items() if not k.lower().startswith("if-")}
        return self.forward(request._replace(headers=free))

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = _Request(self.command, self.path, dict(self.headers), body)
                answer = proxy.answer(request)
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, content = answer
                self.send_response(status)
                for key, value in headers:
                    if key.lower() not in (
                        "transfer-encoding",
                        "connection",
                        "date",
                        "server",
                        "content-length",
                    ):
                        self.send_header(key, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _serve  # noqa: N815

            def log_message(self, *arguments: object) -> None:
                """Log nothing."""

        return Handler


@contextlib.contextmanager
def faulty_s3(upstream: str) -> Iterator[FaultyS3]:
    """Run a proxy in front of an S3 server."""
    proxy = FaultyS3(upstream)
    try:
        yield proxy
    finally:
        with contextlib.suppress(OSError):
            proxy.stop()
