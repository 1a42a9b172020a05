"""Counts the requests of HTTP by route, status and duration."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Histogram

if TYPE_CHECKING:
    from litestar.types import Message, Send

STATUS = "status"
"""Where a request's state holds the status of its answer, once that has begun."""

OTHER = "other"
"""The route of paths that do not exist: clients could invent any number of them."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class RequestMetrics:
    """The duration of answered requests; also counts them, and those with errors by status."""

    def __init__(self, routes: frozenset[str]) -> None:
        """Start without requests; `routes` are the paths that exist."""
        self._routes = routes
        self.registry = CollectorRegistry()
        self._seconds = Histogram(
            "metalog_http_request_seconds",
            "Time from the head of a request to the end of its answer.",
            labelnames=["route", "method", "status"],
            buckets=_SECONDS,
            registry=self.registry,
        )

    def answered(self, scope: Mapping[str, Any], method: str, begun_s: float) -> None:
        """Record an answered request; one whose client disconnected before is not recorded.

        Args:
            begun_s: Time of its head, by `time.monotonic`.
        """
        status = scope["state"].get(STATUS)
        if status is not None:
            route = scope["path"] if scope["path"] in self._routes else OTHER
            seconds = self._seconds.labels(route, method, str(status))
            seconds.observe(time.monotonic() - begun_s)


def noting_status(scope: Mapping[str, Any], send: "Send") -> "Send":
    """Return a function that sends, and keeps the status in the request's state."""

    async def noting(message: "Message") -> None:
        if message["type"] == "http.response.start":
            scope["state"][STATUS] = message["status"]
        await send(message)

    return noting
