"""Inputs of a decision that are in no record: random numbers, sessions, quotas, rights, policies.

While a decision is made, `Observed...` classes record the values it reads, to be logged with its
records. When the decision is made again, `Recorded...` classes return the same values.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from controller.authorization.authorizer import ALLOW_ALL, Authorizer, Operation, Resource
from controller.authorization.caller import Caller
from controller.decisions.context.context import Context, PlannedConfigs, PlannedTopic, Rng
from controller.decisions.context.mutation_quotas import MutationBuckets
from controller.decisions.context.sessions import Session, Sessions
from controller.results.quota_charges import Allowance
from records.base import Record
from records.envelope import Asked, Origin
from records.errors import RequestError
from replay.image.cluster import Broker
from replay.image.metadata import MetadataImage

_SEED_BITS = 63
_SESSION = "session of {}"
_LIVE = "{} is live"
_STALE = "stale broker"
STEP = "step"
"""Name under which a step's maximum of records is logged, if another step followed."""
_LOWEST = "lowest active offset"
_TOKENS = "tokens"
_NAMESPACE_TOKENS = "tokens of namespace {}"
_DENIED = "{} on {} {} is denied"

T = TypeVar("T")


class LazyRandom:
    """Random numbers from a generator that is seeded on first use.

    Few decisions use random numbers, and seeding a generator takes longer than many decisions.

    Attributes:
        seed: The generator's seed.
    """

    def __init__(self, seed: int | None) -> None:
        """Use the numbers of `random.Random(seed)`."""
        self.seed = seed
        self._random: Random | None = None

    def randbytes(self, size: int, /) -> bytes:
        """Return `size` random bytes."""
        return self._generator().randbytes(size)

    def randrange(self, stop: int, /) -> int:
        """Return a number in [0, stop)."""
        return self._generator().randrange(stop)

    def shuffle(self, items: Any, /) -> None:
        """Shuffle a list in place."""
        self._generator().shuffle(items)

    def _generator(self) -> Random:
        if self._random is None:
            self._random = Random(self.seed)
        return self._random


class Draws(LazyRandom):
    """The random numbers of one decision, from its own generator.

    Attributes:
        seed: The generator's seed; None if no number was used yet.
    """

    def __init__(self, seeds: Rng) -> None:
        """Take the seed from `seeds` on first use."""
        super().__init__(None)
        self._seeds = seeds

    def _generator(self) -> Random:
        if self.seed is None:
            self.seed = int.from_bytes(self._seeds.randbytes(8)) >> 64 - _SEED_BITS
        return super()._generator()


class Reads:
    """The values that one decision reads, by name.

    In a transaction, a value can change between two steps. If a later read returns another value
    than the previous read of that name, the value is kept under a numbered name, such as `NAME (2)`
    for the second read.

    Attributes:
        kept: The values to log, by name.
    """

    def __init__(self, kept: Mapping[str, Any] | None = None) -> None:
        """Start before the first read.

        Args:
            kept: The logged values of a past decision, for `again`; None for a new decision.
        """
        self.kept: dict[str, Any] = dict(kept or {})
        self._counts: dict[str, int] = {}
        self._last: dict[str, Any] = {}

    def note(self, name: str, value: Any) -> None:
        """Record a value that was read."""
        numbered = self._numbered(name)
        if name not in self._last or self._last[name] != value:
            self.kept[numbered] = self._last[name] = value

    def again(self, name: str) -> Any:
        """Return the value that the past decision got from the same read; None if there is none."""
        numbered = self._numbered(name)
        if numbered in self.kept:
            self._last[name] = self.kept[numbered]
        return self._last.get(name)

    def _numbered(self, name: str) -> str:
        count = self._counts[name] = self._counts.get(name, 0) + 1
        return name if count == 1 else f"{name} ({count})"


class ObservedSessions(Sessions, frozen=True, kw_only=True):
    """Sessions that record the values read from them."""

    reads: Reads

    @classmethod
    def noting(cls, sessions: Sessions, reads: Reads) -> "ObservedSessions":
        """Return a copy of the sessions that records into `reads` the values read from it."""
        return cls(timeout_ms=sessions.timeout_ms, _by_broker=sessions._by_broker, reads=reads)

    def get(self, broker_id: int) -> Session | None:
        session = super().get(broker_id)
        kept = session and [
            session.last_contact_ms,
            session.registration_offset,
            session.metadata_offset,
            session.shutdown_offset,
        ]
        self.reads.note(_SESSION.format(broker_id), kept)
        return session

    def is_live(self, broker: Broker, now_ms: int) -> bool:
        found = super().is_live(broker, now_ms)
        self.reads.note(_LIVE.format(broker.broker_id), found)
        return found

    def stale_broker(
        self, image: MetadataImage, now_ms: int, begun: int | None = None
    ) -> int | None:
        found = super().stale_broker(image, now_ms, begun)
        self.reads.note(_STALE, found)
        return found

    def lowest_active_offset(self, image: MetadataImage) -> int | None:
        found = super().lowest_active_offset(image)
        self.reads.note(_LOWEST, found)
        return found


class RecordedSessions(Sessions, frozen=True, kw_only=True):
    """Sessions that return the values read by a past decision."""

    reads: Reads

    def get(self, broker_id: int) -> Session | None:
        found = self.reads.again(_SESSION.format(broker_id))
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
        return bool(self.reads.again(_LIVE.format(broker.broker_id)))

    def stale_broker(
        self, image: MetadataImage, now_ms: int, begun: int | None = None
    ) -> int | None:
        found: int | None = self.reads.again(_STALE)
        return found

    def lowest_active_offset(self, image: MetadataImage) -> int | None:
        found: int | None = self.reads.again(_LOWEST)
        return found

    def replayed(self, records: Sequence[Record], *, base_offset: int, now_ms: int) -> Sessions:
        return self  # the reads of later steps were noted as well


class ObservedBuckets(MutationBuckets, frozen=True, kw_only=True):
    """Buckets that record the remaining quotas read from them."""

    reads: Reads

    @classmethod
    def noting(cls, buckets: MutationBuckets, reads: Reads) -> "ObservedBuckets":
        """Return a copy of the buckets that records into `reads` the quotas read from it."""
        return cls(buckets._by_client, reads=reads)

    def allowance(self, image: MetadataImage, origin: Origin | None, now_ms: int) -> Allowance:
        found = super().allowance(image, origin, now_ms)
        if found.bucket is not None:
            self.reads.note(_TOKENS, found.tokens)
        return found

    def namespace_allowance(self, namespace: str, rate: float, now_ms: int) -> Allowance:
        found = super().namespace_allowance(namespace, rate, now_ms)
        self.reads.note(_NAMESPACE_TOKENS.format(namespace), found.tokens)
        return found


class RecordedBuckets(MutationBuckets, frozen=True, kw_only=True):
    """Buckets that return the values read by a past decision."""

    reads: Reads

    def allowance(self, image: MetadataImage, origin: Origin | None, now_ms: int) -> Allowance:
        found = super().allowance(image, origin, now_ms)
        tokens = None if found.bucket is None else self.reads.again(_TOKENS)
        return found if tokens is None else replace(found, tokens=tokens)

    def namespace_allowance(self, namespace: str, rate: float, now_ms: int) -> Allowance:
        found = super().namespace_allowance(namespace, rate, now_ms)
        tokens = self.reads.again(_NAMESPACE_TOKENS.format(namespace))
        return found if tokens is None else replace(found, tokens=tokens)


class ObservedAuthorizer:
    """An authorizer that records its refusals, because they affect the records of a decision."""

    def __init__(self, authorizer: Authorizer, reads: Reads) -> None:
        self._authorizer = authorizer
        self._reads = reads

    def allows(
        self, image: MetadataImage, caller: Caller, operation: Operation, resource: Resource
    ) -> bool:
        """Return the authorizer's answer, and record a refusal."""
        allowed = self._authorizer.allows(image, caller, operation, resource)
        if not allowed:
            self._reads.kept[_denied(operation, resource)] = True
        return allowed


class RecordedAuthorizer:
    """Authorizer for making a past decision again: refuses the operations that were refused then.

    These operations are in the logged values of the decision; all others are allowed.
    """

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def allows(
        self, image: MetadataImage, caller: Caller, operation: Operation, resource: Resource
    ) -> bool:
        """True unless this operation was refused when the decision was first made."""
        return _denied(operation, resource) not in self._reads.kept


def _denied(operation: Operation, resource: Resource) -> str:
    return _DENIED.format(operation.name, resource.type.name, resource.name)


def observed(context: Context, reads: Reads) -> Context:
    """Return a copy of the context that records into `reads` the inputs that are in no record."""
    settings = context.settings
    if settings.authorizer is not ALLOW_ALL:
        settings = replace(settings, authorizer=ObservedAuthorizer(settings.authorizer, reads))
    if settings.topic_policy is not None:
        policy = _observed_policy(settings.topic_policy, reads, _topic_policy)
        settings = replace(settings, topic_policy=policy)
    if settings.config_policy is not None:
        checks = _observed_policy(settings.config_policy, reads, _config_policy)
        settings = replace(settings, config_policy=checks)
    return replace(
        context,
        sessions=ObservedSessions.noting(context.sessions, reads),
        buckets=ObservedBuckets.noting(context.buckets, reads),
        settings=settings,
    )


def recorded(context: Context, asked: Asked) -> Context:
    """Return a context that gives a decision the values it read when it was first made."""
    reads = Reads({} if asked.observed is None else msgspec.msgpack.decode(asked.observed))
    return replace(
        context,
        rng=LazyRandom(asked.seed),
        step_max=reads.kept.get(STEP),
        sessions=RecordedSessions(timeout_ms=context.settings.session_timeout_ms, reads=reads),
        buckets=RecordedBuckets(reads=reads),
        settings=replace(
            context.settings,
            authorizer=RecordedAuthorizer(reads),
            topic_policy=_recorded_policy(reads, _topic_policy),
            config_policy=_recorded_policy(reads, _config_policy),
        ),
    )


def _topic_policy(topic: PlannedTopic) -> str:
    return f"policy on {topic.name}"


def _config_policy(planned: PlannedConfigs) -> str:
    return f"policy on configs of {planned.resource_type}/{planned.resource_name}"


def _observed_policy(
    policy: Callable[[T], None], reads: Reads, name_of: Callable[[T], str]
) -> Callable[[T], None]:
    def check(planned: T) -> None:
        try:
            policy(planned)
        except RequestError as error:
            reads.kept[name_of(planned)] = [error.code, str(error)]
            raise

    return check


def _recorded_policy(reads: Reads, name_of: Callable[[T], str]) -> Callable[[T], None]:
    def check(planned: T) -> None:
        refused = reads.kept.get(name_of(planned))
        if refused is not None:
            raise RequestError(*refused)

    return check
