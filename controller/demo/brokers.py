"""Simulated brokers for the demo: register, heartbeat, fail, stop, restart."""

import enum
from random import Random

from controller.decisions.brokers.heartbeats import Heartbeat, HeartbeatReply
from controller.decisions.brokers.registrations import BrokerEpoch, RegisterBroker, register_broker
from controller.decisions.ids import new_id
from controller.decisions.levels import METADATA_VERSION, SUPPORTED_LEVELS
from controller.demo.events import Event, event
from controller.demo.people import broker_origin
from records.brokers import BrokerEndpoint, BrokerFeature

_RACKS = ("az-1", "az-2", "az-3")
_PORT = 9092
_PLAINTEXT = 0
_NEVER_STOPPED_CLEANLY = -1

LEVEL_OF_RELEASE = 25
"""metadata.version 4.0-IV3: the demo's brokers run Kafka 4.0."""

_FEATURES = tuple(
    [
        BrokerFeature(
            name=name,
            min_supported_version=low,
            max_supported_version=LEVEL_OF_RELEASE if name == METADATA_VERSION else high,
        )
        for name, (low, high) in sorted(SUPPORTED_LEVELS.items())
    ]
)


class Process(enum.Enum):
    """State of a broker's process."""

    DOWN = "down"
    RUNNING = "running"
    STOPPING = "stopping"


class SimulatedBroker:
    """One simulated broker.

    Its id, its directory, and whether its last stop was clean, survive a restart.
    """

    def __init__(self, broker_id: int, rng: Random) -> None:
        self.broker_id = broker_id
        self.process = Process.DOWN
        self.epoch: int | None = None
        self._rng = rng
        self._rack = _RACKS[broker_id % len(_RACKS)]
        self._log_dir = new_id(rng)
        self._incarnation = new_id(rng)
        self._clean_stop_epoch = _NEVER_STOPPED_CLEANLY

    @property
    def is_running(self) -> bool:
        """True if the broker's process is running."""
        return self.process is not Process.DOWN

    @property
    def is_serving(self) -> bool:
        """True if the broker is registered and not shutting down."""
        return self.process is Process.RUNNING and self.epoch is not None

    def start(self) -> None:
        """Start a new process."""
        self.process = Process.RUNNING
        self.epoch = None
        self._incarnation = new_id(self._rng)

    def crash(self) -> None:
        """Kill the process."""
        self.process = Process.DOWN
        self.epoch = None
        self._clean_stop_epoch = _NEVER_STOPPED_CLEANLY

    def stop(self) -> None:
        """Request a controlled shutdown in the next heartbeats."""
        if self.is_serving:
            self.process = Process.STOPPING

    def next_event(self, cluster_id: str, metadata_offset: int) -> Event | None:
        """Return the broker's next request; None while it is down.

        Args:
            metadata_offset: The last offset of the log; the broker reports it as applied.
        """
        if self.process is Process.DOWN:
            return None
        if self.epoch is None:
            return self._registration(cluster_id)
        request = Heartbeat(
            broker_id=self.broker_id,
            broker_epoch=self.epoch,
            metadata_offset=metadata_offset,
            want_shutdown=self.process is Process.STOPPING,
        )
        origin = broker_origin(self.broker_id, "heartbeat")
        return Event(
            "broker state changes",
            lambda controller: controller.heartbeat(request, origin=origin),
            self._heard_reply,
        )

    def _registration(self, cluster_id: str) -> Event:
        """Return a registration request; it is retried until the old session has expired."""
        request = RegisterBroker(
            broker_id=self.broker_id,
            cluster_id=cluster_id,
            incarnation_id=self._incarnation,
            end_points=(
                BrokerEndpoint(
                    name="PLAINTEXT",
                    host=f"broker-{self.broker_id}.demo.internal",
                    port=_PORT,
                    security_protocol=_PLAINTEXT,
                ),
            ),
            features=_FEATURES,
            rack=self._rack,
            log_dirs=(self._log_dir,),
            previous_broker_epoch=self._clean_stop_epoch,
        )
        origin = broker_origin(self.broker_id, "register")
        return event(
            "broker registrations", register_broker, request, origin, hear=self._heard_epoch
        )

    def _heard_epoch(self, response: BrokerEpoch) -> None:
        self.epoch = response.broker_epoch

    def _heard_reply(self, reply: HeartbeatReply) -> None:
        if reply.should_shut_down and self.epoch is not None:
            self._clean_stop_epoch = self.epoch
            self.process = Process.DOWN
            self.epoch = None
