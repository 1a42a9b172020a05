"""State that the HTTP handlers share."""

import asyncio
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from api.http.heartbeats import Heartbeats
from api.http.known_log import KnownLog, StillReadingError
from api.http.limits import DOCUMENTS_AT_ONCE
from api.http.metrics import Metrics, RequestMetrics, Sources
from api.http.tokens import Tokens
from api.service.feed import Feed
from api.service.service import Service
from controller.authorization.authorizer import Authorizer
from records.errors import UnavailableError

if TYPE_CHECKING:
    from api.http.tracing import Tracer

_LOADING = "the service is loading the log; ask again"


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    """The address of the listener, and the authentication of its clients.

    Attributes:
        host: The name or address of the listener; None: a unix socket.
        tokens: If not empty, every request needs a token or a certificate.
        tracer: Sends traces of requests; None: there are none.
    """

    host: str | None
    has_tls: bool = False
    tokens: Tokens = {}
    tracer: "Tracer | None" = None


class SharedState:
    """The service, once the log is loaded, with its feed and metrics.

    Attributes:
        documents: Semaphore that is held while a large answer is made, to limit the memory.
        requests: The metrics of requests.
        listener: The address of the listener, and the authentication of its clients.
        service: None while the log is being loaded.
        log: The log as the command line names it, for a service that only shows it; None: the
            command line names the service.
        known: What is known of the log while it is being read; thread-safe. None: nothing, or not
            everybody may know it.
        reading: Another text each time that a log that is only shown was read; else empty.
        authorizer: Decides who may ask about a log that cannot be read; None: nobody.
    """

    def __init__(self, listener: Listener, routes: frozenset[str], log: str | None = None) -> None:
        """Create the state without a service; `routes` are the paths that exist."""
        self.requests = RequestMetrics(routes)
        self.documents = asyncio.Semaphore(DOCUMENTS_AT_ONCE)
        self.listener = listener
        self.service: Service | None = None
        self.log = log
        self.known: KnownLog | None = None
        self.reading = ""
        self.authorizer: Authorizer | None = None
        self._why_not = _LOADING
        self._kafka = ""
        self._feed: Feed | None = None
        self._metrics: Metrics | None = None
        self._heartbeats: Heartbeats | None = None

    @property
    def is_read_only(self) -> bool:
        """True if the service takes no commands."""
        return self.log is not None

    def serve(self, service: Service, kafka: str, sources: Sources) -> None:
        """Set the service that answers requests from now on; end streams of the previous one."""
        self._kafka = kafka
        # The unconfirmed end of a mirror may have been replaced since it was last read.
        self.reading = secrets.token_hex(8) if self.is_read_only else ""
        self._feed = service.feed
        self._heartbeats = Heartbeats(self._feed)
        self._metrics = Metrics(service, self._feed, sources, self.requests)
        self.service, self.known = service, None

    def kafka_url(self, headers: Mapping[str, str]) -> str:
        """Return the URL of the Kafka listener, for command lines that pages show.

        If the listener is on all addresses, the URL has the host to which this request was sent.
        """
        return reachable_url(self._kafka, headers.get("host", ""))

    @property
    def feed(self) -> Feed:
        """The feed of the newest records.

        Raises:
            UnavailableError: as `unavailable`.
        """
        if self._feed is None:
            raise self.unavailable()
        return self._feed

    @property
    def heartbeats(self) -> Heartbeats:
        """The heartbeats of the feed's streams; raises the errors of `feed`."""
        if self._heartbeats is None:
            raise self.unavailable()
        return self._heartbeats

    @property
    def metrics(self) -> Metrics:
        """The service's metrics; raises the errors of `feed`."""
        if self._metrics is None:
            raise self.unavailable()
        return self._metrics

    def unavailable(self) -> UnavailableError:
        """Return the error of requests while there is no service."""
        if self.known is not None:
            return StillReadingError(self._why_not, self.known)
        return UnavailableError(self._why_not)

    def loading(self, text: str) -> None:
        """Set the text of the error that requests get until `serve` is called; thread-safe."""
        self._why_not = text

    def close(self) -> None:
        """End the streams of events."""
        if self._feed is not None:
            self._feed.close()

    def stop_serving(self, why_not: str) -> None:
        """End the streams of events, and answer nothing until `serve` is called again.

        Args:
            why_not: Text of the error that requests get until then.
        """
        self.close()
        self._why_not, self.known = why_not, None
        self.service = self._feed = self._heartbeats = self._metrics = None


def reachable_url(url: str, host: str) -> str:
    """Return the URL; if its host means all addresses, with the host of a Host header instead."""
    parts = urlsplit(url)
    if parts.hostname not in ("0.0.0.0", "::"):
        return url
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return url
    if not name:
        return url
    return url.replace(parts.netloc, f"{f'[{name}]' if ':' in name else name}:{parts.port}")
