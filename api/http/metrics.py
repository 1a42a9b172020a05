"""Metrics in Prometheus' format: of requests, counted as they are answered, and of the service."""

import asyncio
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec
from prometheus_client import (
    CollectorRegistry,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from api.security.sasl import Authenticator
from api.service.feed import Feed
from api.service.service import Service
from api.upkeep.jobs import JobRuns
from controller.descriptions.progress import applied_offsets
from controller.descriptions.view import View
from metadata_log.format.batch import Batch
from replay.image.metadata import MetadataImage
from replay.incidents.health import Health, health_of

if TYPE_CHECKING:
    from litestar.types import Message, Send

PATH = "/metrics"

STATUS = "status"
"""Key in a request's state for the status of its answer, set when the answer begins."""

OTHER = "other"
"""The route label of all paths that do not exist: clients could invent any number of paths."""

_BATCH_RECORDS = (1, 2, 5, 10, 100, 1_000, 10_000)
_FOLLOWING = {
    "snapshot": "the newest snapshot",
    "sql_history": "the SQL history",
    "archive": "the newest archived segment",
}
"""Jobs that follow the log, each with the data that the job keeps."""

_REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SYNC_SECONDS = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5)


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """State of the process, not of the service, from which metrics are computed.

    Attributes:
        connections: Returns the number of connections of each listener.
        jobs: The background jobs.
        authenticators: The authenticators of the listeners with SASL.
    """

    connections: Callable[[], dict[str, int]]
    jobs: Sequence[JobRuns] = ()
    authenticators: Sequence[Authenticator] = ()


class RequestMetrics:
    """The durations and the number of answered requests, and the numbers of errors by status."""

    def __init__(self, routes: frozenset[str]) -> None:
        """Start without requests; `routes` are the paths that exist."""
        self._routes = routes
        self.registry = CollectorRegistry()
        self._seconds = Histogram(
            "metalog_http_request_seconds",
            "Time from the head of a request to the end of its answer.",
            labelnames=["route", "method", "status"],
            buckets=_REQUEST_SECONDS,
            registry=self.registry,
        )

    def answered(self, scope: Mapping[str, Any], method: str, begun_s: float) -> None:
        """Record an answered request, unless its client disconnected before the answer.

        Args:
            begun_s: When the request's head came, by `time.monotonic`.
        """
        status = scope["state"].get(STATUS)
        if status is not None:
            route = scope["path"] if scope["path"] in self._routes else OTHER
            seconds = self._seconds.labels(route, method, str(status))
            seconds.observe(time.monotonic() - begun_s)


def noting_status(scope: Mapping[str, Any], send: "Send") -> "Send":
    """Return a `send` that also stores the answer's status in the request's state."""

    async def noting(message: "Message") -> None:
        if message["type"] == "http.response.start":
            scope["state"][STATUS] = message["status"]
        await send(message)

    return noting


_BUILD = {"version": version("metadata-log"), "python": platform.python_version()}


class Metrics(Collector):
    """The metrics of a service."""

    def __init__(
        self, service: Service, feed: Feed, sources: Sources, requests: RequestMetrics
    ) -> None:
        self._service, self._feed, self._sources = service, feed, sources
        self._requests = requests
        self._health: tuple[MetadataImage | None, Health] = (None, Health())
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
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

    async def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        image = self._service.image
        if self._health[0] is not image:
            # Visits all partitions, which may be millions.
            self._health = image, await asyncio.to_thread(health_of, image)
        return generate_latest(self._registry) + generate_latest(self._requests.registry)

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics that are read from the service."""
        service, feed = self._service, self._feed
        end = service.image.provenance.next_offset
        yield _gauge("metalog_log_end_offset", "End of the committed log, exclusive.", end)
        yield _gauge("metalog_leader_epoch", "Epoch of this writer.", service.controller_epoch)
        yield _gauge("metalog_active", "1 if requests are decided.", service.is_active)
        yield _gauge("metalog_leader_id", "Node that decides; -1: none.", service.leader_id)
        yield _gauge(
            "metalog_behind_seconds",
            "Since this node had all committed records; 0 on the leader.",
            service.behind_s,
        )
        if (left_s := service.lease_left_s) is not None:
            help_ = "For how long this node may decide without a renewal; 0: it does not decide."
            yield _gauge("metalog_lease_left_seconds", help_, left_s)
        start = service.answers.history_start
        yield _gauge("metalog_history_start_offset", "First offset whose record is kept.", start)
        yield _gauge("metalog_event_streams", "Open streams of events.", feed.streams)
        yield _by(
            "metalog_connections",
            "Connections of each listener.",
            "listener",
            self._sources.connections(),
        )
        yield _logins(self._sources.authenticators)
        found = self._health[1]
        yield _gauge("metalog_partitions", "Partitions of all topics.", found.partitions)
        yield _gauge("metalog_partitions_offline", "Without a leader.", found.leaderless)
        yield _gauge(
            "metalog_partitions_under_replicated",
            "With fewer replicas in sync than replicas, without those being added.",
            found.under_replicated,
        )
        yield InfoMetricFamily("metalog_build", "The running release.", value=_BUILD)
        yield from self._brokers(end)
        yield from _jobs(self._sources.jobs, end)

    def _brokers(self, end: int) -> Iterable[Metric]:
        view = self._service.view
        lags = {
            str(each.broker_id): end - 1 - each.offset
            for each in applied_offsets(view)
            if each.offset is not None
        }
        fenced = {str(each.broker_id): int(each.fenced) for each in view.image.brokers()}
        yield _by("metalog_broker_lag_records", "Records not applied yet.", "broker", lags)
        yield _by("metalog_broker_fenced", "1 for a broker that is fenced.", "broker", fenced)
        yield _by(
            "metalog_broker_silence_seconds", "Since its heartbeat.", "broker", _silences(view)
        )

    def _committed(self, batch: Batch) -> None:
        self._batches.observe(len(batch.rows))


def _gauge(name: str, help_: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_, value=value)


def _by(name: str, help_: str, label: str, values: Mapping[str, float]) -> Metric:
    found = GaugeMetricFamily(name, help_, labels=[label])
    for key, value in values.items():
        found.add_metric([key], value)
    return found


def _silences(view: View) -> dict[str, float]:
    """Return the seconds since each broker's last heartbeat."""
    if view.sessions is None:
        return {}
    now_ms = time.time() * 1_000
    sessions = {each.broker_id: view.sessions.get(each.broker_id) for each in view.image.brokers()}
    return {
        str(broker_id): max(now_ms - session.last_contact_ms, 0) / 1_000
        for broker_id, session in sessions.items()
        if session is not None
    }


def _jobs(jobs: Sequence[JobRuns], end: int) -> Iterable[Metric]:
    """Yield the metrics of all jobs; for jobs that follow the log, also their lag."""
    runs = CounterMetricFamily(
        "metalog_job_runs", "Runs in the background.", labels=["job", "outcome"]
    )
    for job in jobs:
        runs.add_metric([job.name, "succeeded"], job.done)
        runs.add_metric([job.name, "failed"], job.failed)
    yield runs
    running = {job.name: int(job.is_running) for job in jobs}
    done_at = {job.name: job.done_at_s for job in jobs if job.done_at_s is not None}
    took = {job.name: job.took_s for job in jobs if job.done_at_s is not None}
    yield _by("metalog_job_running", "1 while it runs.", "job", running)
    yield _by("metalog_job_success_timestamp_seconds", "Its newest success.", "job", done_at)
    yield _by("metalog_job_seconds", "How long the newest success took.", "job", took)
    ends = {"snapshot": 0} | {job.name: job.end_offset or 0 for job in jobs}
    for name, help_ in _FOLLOWING.items():
        if name in ends:
            yield _gauge(f"metalog_{name}_end_offset", f"End of {help_}, exclusive.", ends[name])
            yield _gauge(f"metalog_{name}_lag_records", f"Records since {help_}.", end - ends[name])


def _logins(authenticators: Sequence[Authenticator]) -> Metric:
    labels = ["listener", "outcome"]
    found = CounterMetricFamily("metalog_logins", "Logins by SASL.", labels=labels)
    for each in authenticators:
        found.add_metric([each.listener, "succeeded"], each.succeeded)
        found.add_metric([each.listener, "failed"], each.failed)
    return found
