"""What the handlers of HTTP share."""

from api.feed import Feed
from api.http.callers import Entrance
from api.http.metrics import Metrics, Sources
from api.service import Service
from records.errors import UnavailableError


class Room:
    """The service, once the log is loaded, and what is made of it.

    Attributes:
        entrance: Where requests come in.
        service: None while the log is being loaded.
        kafka: URL of the Kafka listener, for command lines that pages show.
    """

    def __init__(self, entrance: Entrance) -> None:
        self.entrance = entrance
        self.service: Service | None = None
        self.kafka = ""
        self._feed: Feed | None = None
        self._metrics: Metrics | None = None

    def serve(self, service: Service, kafka: str, sources: Sources) -> None:
        """Answer from a service from now on."""
        self.kafka = kafka
        self._feed = service.feed
        self._metrics = Metrics(service, self._feed, sources)
        self.service = service

    @property
    def feed(self) -> Feed:
        """The newest records.

        Raises:
            UnavailableError: the log is being loaded.
        """
        if self._feed is None:
            raise _loading()
        return self._feed

    @property
    def metrics(self) -> Metrics:
        """The metrics; raises as `feed`."""
        if self._metrics is None:
            raise _loading()
        return self._metrics

    def close(self) -> None:
        """End the streams of events."""
        if self._feed is not None:
            self._feed.close()


def _loading() -> UnavailableError:
    return UnavailableError("the service is loading the log; ask again")
