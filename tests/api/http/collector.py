"""A collector of traces: takes what OpenTelemetry's exporter sends, and decodes it."""

import contextlib
import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.api.alerts.running import wait_until


class Collector:
    """The spans that were received.

    Attributes:
        resources: Attributes of the processes that sent them.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.resources: list[dict[str, Any]] = []
        self._spans: list[Any] = []

    def receive(self, body: bytes) -> None:
        """Take the body of a request."""
        for found in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(attributes(found.resource))
            for scope in found.scope_spans:
                self._spans += scope.spans

    def wait_for(self, count: int) -> dict[str, Any]:
        """Return the spans by name, once there are so many."""
        wait_until(lambda: len(self._spans) >= count)
        assert len(self._spans) == count, self._spans
        return {span.name: span for span in self._spans}


def attributes(of: Any) -> dict[str, Any]:
    """Return the attributes of a span or a resource."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in of.attributes}


@contextlib.contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector while the body runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            found.receive(body)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        def log_message(self, *_: object) -> None:
            """Say nothing on standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Collector(f"http://127.0.0.1:{server.server_port}/v1/traces")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
