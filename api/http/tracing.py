"""OpenTelemetry traces of the requests whose `traceparent` says that the caller records a trace.

The spans are made once the request has ended, and sent by a thread of the library.
"""

import importlib.metadata
import time
from collections.abc import Mapping

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import SpanKind, StatusCode, get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from api.service.trace import Trace

_SEND_S = 2
"""How long sending is tried before spans are dropped, also when the service ends."""

_PARENT = TraceContextTextMapPropagator()


class Tracer:
    """Sends the traces of requests to a collector."""

    def __init__(self, url: str) -> None:
        """Send to an OTLP endpoint over HTTP, such as `http://localhost:4318/v1/traces`.

        Headers, certificates and attributes of the resource are taken from the environment.

        Source: OpenTelemetry's specification of environment variables.
        """
        own = {
            SERVICE_NAME: "metalog",
            SERVICE_VERSION: importlib.metadata.version("metadata-log"),
        }
        # Without a parent there is no trace.
        self._provider = TracerProvider(
            sampler=ParentBased(ALWAYS_OFF), resource=Resource.create(own)
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(endpoint=url, timeout=_SEND_S))
        )
        self._tracer = self._provider.get_tracer("metalog")

    def begin(self, headers: Mapping[str, str]) -> "RequestTrace | None":
        """Return the trace of a request with these headers; None if it is not traced.

        Source: W3C Trace Context; a trace that its caller does not record is not recorded here.
        """
        if "traceparent" not in headers:
            return None
        context = _PARENT.extract(headers)
        parent = get_current_span(context).get_span_context()
        if not (parent.is_valid and parent.trace_flags.sampled):
            return None
        return RequestTrace(context)

    def end(self, trace: "RequestTrace", method: str, route: str, status: int | None) -> None:
        """Make the spans of a request that has ended.

        Args:
            status: None: the client disconnected before the answer.
        """
        attributes: dict[str, str | int] = {"http.request.method": method, "http.route": route}
        if status is not None:
            attributes["http.response.status_code"] = status
        span = self._tracer.start_span(
            f"{method} {route}",
            trace.context,
            SpanKind.SERVER,
            attributes,
            start_time=trace.begun_ns,
        )
        if status is None or status >= 500:
            span.set_status(StatusCode.ERROR)
        inside = set_span_in_context(span)
        for part in trace.parts:
            child = self._tracer.start_span(
                part.name, inside, attributes=part.attributes, start_time=part.begun_ns
            )
            if part.error is not None:
                child.set_status(StatusCode.ERROR, part.error)
            child.end(part.ended_ns)
        span.end()

    def close(self) -> None:
        """Send what was not sent yet; blocks, for seconds if the collector does not answer."""
        self._provider.shutdown()


class RequestTrace(Trace):
    """The trace of a request over HTTP.

    Attributes:
        context: The caller's span.
        begun_ns: When its head was read, ns since 1970.
    """

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.begun_ns = time.time_ns()
