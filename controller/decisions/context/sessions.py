"""Broker sessions: last contact and applied offset of each broker.

Sessions are not in the log: a new controller starts as if every registered broker had just sent a
heartbeat, and learns applied offsets and lags from the next heartbeats. Sessions are immutable,
like the image.

Source: BrokerHeartbeatManager of Kafka 4.0; docs/kafka_rules.md, section 8.
"""

from collections.abc import Mapping, Sequence

import msgspec
from immutables import Map
from msgspec.structs import replace

from records.base import Record, Uuid
from records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from replay.image.cluster import Broker
from replay.image.metadata import MetadataImage

ABOUT_BROKERS: frozenset[type[Record]] = frozenset(
    {
        RegisterBrokerRecord,
        UnregisterBrokerRecord,
        FenceBrokerRecord,
        BrokerRegistrationChangeRecord,
    }
)
"""Types of the records that sessions depend on."""


class ReplicaLag(msgspec.Struct, frozen=True, gc=False):
    """Number of records by which a broker's replica is behind its leader."""

    topic_id: Uuid
    partition_id: int
    lag: int


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """State of a broker beyond its registration.

    `last_contact_ms` is in ms since 1970. `metadata_offset` is the last offset the broker has
    applied, None before its first report. `registration_offset` is the offset of its registration
    record. `shutdown_offset` is the offset of the last record of its controlled shutdown, None if
    it is not shutting down. `lags` are the latest reported lags, by topic id and partition id.
    """

    last_contact_ms: int
    registration_offset: int
    metadata_offset: int | None = None
    shutdown_offset: int | None = None
    lags: Mapping[tuple[Uuid, int], int] = Map()


class Sessions(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions of all registered brokers."""

    timeout_ms: int
    _by_broker: Map[int, Session] = Map()

    def after_pause(self, pause_ms: int, now_ms: int) -> "Sessions":
        """Extend the sessions by a pause in which this controller could not receive heartbeats."""
        return replace(
            self,
            _by_broker=Map(
                {
                    broker_id: replace(
                        session,
                        last_contact_ms=max(
                            session.last_contact_ms,
                            min(session.last_contact_ms + pause_ms, now_ms),
                        ),
                    )
                    for broker_id, session in self._by_broker.items()
                }
            ),
        )

    @classmethod
    def of(cls, image: MetadataImage, *, timeout_ms: int, now_ms: int) -> "Sessions":
        """Return sessions as if every registered broker had just sent a heartbeat.

        The image does not have the exact offset of a registration record. It is replaced by the
        broker's epoch, the offset at which the record's batch begins: a broker that applied the
        first record of a batch has read the whole batch.
        """
        sessions = {
            broker.broker_id: Session(
                last_contact_ms=now_ms, registration_offset=broker.broker_epoch
            )
            for broker in image.brokers()
        }
        return cls(timeout_ms=timeout_ms, _by_broker=Map(sessions))

    def get(self, broker_id: int) -> Session | None:
        """Return a broker's session, or None."""
        return self._by_broker.get(broker_id)

    def is_live(self, broker: Broker, now_ms: int) -> bool:
        """True if a broker is unfenced and its session valid: no other process may take its id."""
        session = self._by_broker.get(broker.broker_id)
        return session is not None and not broker.fenced and not self._expired(session, now_ms)

    def stale_broker(
        self, image: MetadataImage, now_ms: int, begun: int | None = None
    ) -> int | None:
        """Return the unfenced broker with the oldest expired session, if any.

        Args:
            begun: A stale broker that has left only some of its partitions yet. It is returned even
                if it sent a heartbeat since: only a fenced broker gets its partitions back.
        """
        if begun is not None:
            return begun
        stale = [
            (session.last_contact_ms, broker.broker_id)
            for broker in image.brokers()
            if not broker.fenced
            and (session := self._by_broker.get(broker.broker_id)) is not None
            and self._expired(session, now_ms)
        ]
        return min(stale)[1] if stale else None

    def lowest_active_offset(self, image: MetadataImage) -> int | None:
        """Return the highest offset that all active brokers have applied.

        Returns None if no broker is active, and -1 if some active broker has not reported its
        offset yet.
        """
        offsets = [
            -1 if session.metadata_offset is None else session.metadata_offset
            for broker in image.brokers()
            if not broker.fenced
            and (session := self._by_broker.get(broker.broker_id)) is not None
            and session.shutdown_offset is None
        ]
        return min(offsets, default=None)

    def heard_of(
        self,
        broker_id: int,
        *,
        metadata_offset: int,
        now_ms: int,
        lags: Sequence[ReplicaLag] | None = None,
    ) -> "Sessions":
        """Apply a heartbeat; the heartbeat of a broker without a session changes nothing.

        Args:
            lags: Lags of all replicas of the broker; None keeps the previous lags.
        """
        session = self._by_broker.get(broker_id)
        if session is None:
            return self
        session = replace(session, last_contact_ms=now_ms, metadata_offset=metadata_offset)
        if lags is not None:
            by_replica = {(lag.topic_id, lag.partition_id): lag.lag for lag in lags}
            session = replace(session, lags=by_replica)
        return self._with(broker_id, session)

    def shutting_down(self, broker_id: int, last_offset: int) -> "Sessions":
        """Set a broker's `shutdown_offset`, the offset of the last record that moved its
        leaderships.

        Only the first call has an effect, until the broker is fenced.
        """
        session = self._by_broker.get(broker_id)
        if session is None or session.shutdown_offset is not None:
            return self
        return self._with(broker_id, replace(session, shutdown_offset=last_offset))

    def replayed(self, records: Sequence[Record], *, base_offset: int, now_ms: int) -> "Sessions":
        """Apply records about brokers; `base_offset` is the offset of the first record."""
        sessions = self
        for offset, record in enumerate(records, base_offset):
            if type(record) in ABOUT_BROKERS:
                sessions = sessions._after(record, offset, now_ms)
        return sessions

    def _after(self, record: Record, offset: int, now_ms: int) -> "Sessions":
        match record:
            case RegisterBrokerRecord(broker_id=broker_id):
                session = Session(last_contact_ms=now_ms, registration_offset=offset)
                return self._with(broker_id, session)
            case UnregisterBrokerRecord(broker_id=broker_id):
                return replace(self, _by_broker=self._by_broker.delete(broker_id))
            case BrokerRegistrationChangeRecord(broker_id=broker_id, fenced=1):
                return self._after_fencing(broker_id)
            case FenceBrokerRecord(id=broker_id):
                return self._after_fencing(broker_id)
        return self

    def _after_fencing(self, broker_id: int) -> "Sessions":
        return self._with(broker_id, replace(self._by_broker[broker_id], shutdown_offset=None))

    def _with(self, broker_id: int, session: Session) -> "Sessions":
        return replace(self, _by_broker=self._by_broker.set(broker_id, session))

    def _expired(self, session: Session, now_ms: int) -> bool:
        return session.last_contact_ms + self.timeout_ms < now_ms
