"""Metrics in Prometheus' form, read from the service when they are asked for."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from litestar import Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from api.http.feed import Feed
from api.http.requests import asked_of
from api.security.sasl import Authenticator
from api.service import Service
from controller.authorization.authorizer import CLUSTER, Operation
from controller.descriptions.queries import ListBrokers, brokers_listed
from metadata_log.batch import Batch

PATH = "/metrics"

_BATCH_RECORDS = (1, 2, 5, 10, 100, 1_000, 10_000)
_SYNC_SECONDS = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5)


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """What only the process knows.

    Attributes:
        connections: Returns how many there are of each listener.
        snapshot_end: Returns the end offset of the newest snapshot, 0 without one.
        authenticators: Those of the listeners with SASL.
    """

    connections: Callable[[], dict[str, int]]
    snapshot_end: Callable[[], int]
    authenticators: Sequence[Authenticator] = ()


class Metrics(Collector):
    """The metrics of a service."""

    def __init__(self, service: Service, feed: Feed, sources: Sources) -> None:
        self._service, self._feed, self._sources = service, feed, sources
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self._batches = Histogram(
            "metalog_batch_records",
            "Records of each committed batch.",
            buckets=_BATCH_RECORDS,
            registry=self._registry,
        )
        self._syncs = Histogram(
            "metalog_sync_seconds",
            "How long each sync of the log took.",
            buckets=_SYNC_SECONDS,
            registry=self._registry,
        )
        service.on_commit.append(self._committed)
        service.observe_syncs(self._syncs.observe)

    def text(self) -> bytes:
        """Return all metrics."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """Yield what is read from the service."""
        service, feed = self._service, self._feed
        end = service.image.provenance.next_offset
        snapshot = self._sources.snapshot_end()
        yield _gauge("metalog_log_end_offset", "End of the committed log, exclusive.", end)
        yield _gauge("metalog_leader_epoch", "Epoch of this writer.", service.controller_epoch)
        yield _gauge("metalog_active", "1 if requests are decided.", service.is_active)
        yield _gauge("metalog_snapshot_end_offset", "End of the newest snapshot.", snapshot)
        yield _gauge("metalog_snapshot_lag_records", "Records since it.", end - snapshot)
        yield _gauge("metalog_event_streams", "Open streams of events.", feed.streams)
        yield _by(
            "metalog_connections",
            "Connections of each listener.",
            "listener",
            self._sources.connections(),
        )
        yield _logins(self._sources.authenticators)
        yield from self._brokers(end)

    def _brokers(self, end: int) -> Iterable[Metric]:
        found = brokers_listed(self._service.view, ListBrokers())
        lags = {
            str(each.broker.broker_id): end - 1 - each.applied_offset
            for each in found
            if each.applied_offset is not None
        }
        fenced = {str(each.broker.broker_id): int(each.broker.fenced) for each in found}
        yield _by("metalog_broker_lag_records", "Records not applied yet.", "broker", lags)
        yield _by("metalog_broker_fenced", "1 for a broker that is fenced.", "broker", fenced)

    def _committed(self, batch: Batch) -> None:
        self._batches.observe(len(batch.rows))


def _gauge(name: str, help_: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_, value=value)


def _by(name: str, help_: str, label: str, values: dict[str, int]) -> Metric:
    found = GaugeMetricFamily(name, help_, labels=[label])
    for key, value in values.items():
        found.add_metric([key], value)
    return found


def _logins(authenticators: Sequence[Authenticator]) -> Metric:
    labels = ["listener", "outcome"]
    found = CounterMetricFamily("metalog_logins", "Logins by SASL.", labels=labels)
    for each in authenticators:
        found.add_metric([each.listener, "succeeded"], each.succeeded)
        found.add_metric([each.listener, "failed"], each.failed)
    return found


async def measure(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return the metrics, to whoever may describe the cluster.

    Raises:
        RequestError: CLUSTER_AUTHORIZATION_FAILED.
        UnavailableError: the log is being loaded.
    """
    asked = asked_of(request)
    asked.service.access(asked.caller).require(Operation.DESCRIBE, CLUSTER)
    content = request.app.state.room.metrics.text()
    return Response(content, media_type=CONTENT_TYPE_LATEST)
