"""What a decision reads that no record holds: chance, sessions of brokers, and spent quotas.

An `Observer` notes what was read, so that it can be written beside the records; `Recorded` gives it
back when the decision is taken again.
"""

from collections.abc import Mapping
from random import Random
from typing import Any

from msgspec.structs import replace

from controller.decisions.context import Rng
from controller.decisions.mutation_quotas import Allowance, MutationBuckets
from controller.decisions.sessions import Session, Sessions
from records.envelope import Origin
from replay.image.cluster import Broker
from replay.image.metadata import MetadataImage

_SEED_BITS = 63
_SESSION = "session of {}"
_LIVE = "{} is live"
_STALE = "stale broker"
_LOWEST = "lowest active offset"
_TOKENS = "tokens"


class Draws:
    """The random numbers of one decision, from a generator of its own.

    Attributes:
        seed: What the generator began with; None while nothing was drawn.
    """

    def __init__(self, seeds: Rng) -> None:
        """Take a seed from `seeds` when the first number is drawn."""
        self._seeds = seeds
        self._random: Random | None = None
        self.seed: int | None = None

    def randbytes(self, size: int, /) -> bytes:
        """Return that many random octets."""
        return self._generator().randbytes(size)

    def randrange(self, stop: int, /) -> int:
        """Return a number in [0, stop)."""
        return self._generator().randrange(stop)

    def shuffle(self, items: Any, /) -> None:
        """Put the items of a list into a random order."""
        self._generator().shuffle(items)

    def _generator(self) -> Random:
        if self._random is None:
            self.seed = int.from_bytes(self._seeds.randbytes(8)) >> 64 - _SEED_BITS
            self._random = Random(self.seed)
        return self._random


class ObservedSessions(Sessions, frozen=True, kw_only=True):
    """Sessions that note what is read of them in `seen`."""

    seen: dict[str, Any]

    @classmethod
    def noting(cls, sessions: Sessions, seen: dict[str, Any]) -> "ObservedSessions":
        """Return the same sessions, observed."""
        return cls(timeout_ms=sessions.timeout_ms, _by_broker=sessions._by_broker, seen=seen)

    def get(self, broker_id: int) -> Session | None:
        session = super().get(broker_id)
        self.seen[_SESSION.format(broker_id)] = session and (
            session.last_contact_ms,
            session.registration_offset,
            session.metadata_offset,
            session.shutdown_offset,
        )
        return session

    def is_live(self, broker: Broker, now_ms: int) -> bool:
        found = self.seen[_LIVE.format(broker.broker_id)] = super().is_live(broker, now_ms)
        return found

    def stale_broker(self, image: MetadataImage, now_ms: int) -> int | None:
        found = self.seen[_STALE] = super().stale_broker(image, now_ms)
        return found

    def lowest_active_offset(self, image: MetadataImage) -> int | None:
        found = self.seen[_LOWEST] = super().lowest_active_offset(image)
        return found


class ObservedBuckets(MutationBuckets, frozen=True, kw_only=True):
    """Buckets that note in `seen` what a client with a quota had left."""

    seen: dict[str, Any]

    @classmethod
    def noting(cls, buckets: MutationBuckets, seen: dict[str, Any]) -> "ObservedBuckets":
        """Return the same buckets, observed."""
        return cls(buckets._by_client, seen=seen)

    def allowance(self, image: MetadataImage, origin: Origin | None, now_ms: int) -> Allowance:
        found = super().allowance(image, origin, now_ms)
        if found.bucket is not None:
            self.seen[_TOKENS] = found.tokens
        return found


class RecordedSessions(Sessions, frozen=True, kw_only=True):
    """Sessions as a decision of the past saw them."""

    seen: Mapping[str, Any]

    def get(self, broker_id: int) -> Session | None:
        found = self.seen.get(_SESSION.format(broker_id))
        if found is None:
            return None
        last_contact_ms, registration_offset, metadata_offset, shutdown_offset = found
        return Session(
            last_contact_ms=last_contact_ms,
            registration_offset=registration_offset,
            metadata_offset=metadata_offset,
            shutdown_offset=shutdown_offset,
        )

    def is_live(self, broker: Broker, now_ms: int) -> bool:
        return bool(self.seen.get(_LIVE.format(broker.broker_id)))

    def stale_broker(self, image: MetadataImage, now_ms: int) -> int | None:
        found: int | None = self.seen.get(_STALE)
        return found

    def lowest_active_offset(self, image: MetadataImage) -> int | None:
        found: int | None = self.seen.get(_LOWEST)
        return found


class RecordedBuckets(MutationBuckets, frozen=True, kw_only=True):
    """Buckets as a decision of the past saw them."""

    seen: Mapping[str, Any]

    def allowance(self, image: MetadataImage, origin: Origin | None, now_ms: int) -> Allowance:
        found = super().allowance(image, origin, now_ms)
        if found.bucket is None or _TOKENS not in self.seen:
            return found
        return replace(found, tokens=self.seen[_TOKENS])
