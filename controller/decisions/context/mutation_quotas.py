"""Mutation quotas: how many partitions may be created and deleted, by a client or in a namespace.

Each client with a quota, and each namespace with a limit, has a token bucket. It fills at the
quota's rate, up to the amount of `_BURST_S` seconds. An operation is admitted while the bucket is
not in debt, even if the operation costs more than is left. So a large request passes, and later
requests are refused until its debt is paid.

Buckets are not in the log: a new controller starts with full buckets. They are immutable, like the
image.

Source: KIP-599 (token bucket, strict admission), KIP-257 (users, clients and their defaults);
docs/kafka_rules.md, section 2.
"""

from collections.abc import Iterable

import msgspec
from immutables import Map
from msgspec.structs import replace

from controller.authorization.caller import client_id_of
from controller.decisions.context.quota_entities import CLIENT_ID, USER, applying_entities
from controller.results.quota_charges import MUTATION_RATE, UNLIMITED, Allowance, Charge
from records.envelope import Origin
from replay.image.metadata import MetadataImage
from replay.image.quotas import QuotaEntity

# Kafka's defaults: 11 windows (controller.quota.window.num) of 1 s (.window.size.seconds).
_BURST_S = 11
# Above this number, full buckets are dropped: clients can make up any number of ids.
_BUCKETS_MAX = 1_000
# No entity of Kafka's quotas, so no bucket of a client is mistaken for one of these.
_NAMESPACE = "namespace"
_USER_PRINCIPAL = "User:"


class _Bucket(msgspec.Struct, frozen=True):
    tokens: float
    at_ms: int
    full_at_ms: float


class MutationBuckets(msgspec.Struct, frozen=True):
    """The buckets of all clients and namespaces; a bucket that is not stored is full."""

    _by_client: Map[QuotaEntity, _Bucket] = Map()

    def allowance(self, image: MetadataImage, origin: Origin | None, now_ms: int) -> Allowance:
        """Return a client's remaining quota."""
        found = _quota_of(image, origin)
        if found is None:
            return UNLIMITED
        client, rate = found
        return Allowance(
            bucket=client, rate=rate, tokens=self._tokens(client, rate, now_ms), now_ms=now_ms
        )

    def namespace_allowance(self, namespace: str, rate: float, now_ms: int) -> Allowance:
        """Return how much is left of a namespace's limit of `rate` partitions per second."""
        entity: QuotaEntity = ((_NAMESPACE, namespace),)
        return Allowance(
            bucket=entity, rate=rate, tokens=self._tokens(entity, rate, now_ms), now_ms=now_ms
        )

    def _tokens(self, entity: QuotaEntity, rate: float, now_ms: int) -> float:
        bucket, full = self._by_client.get(entity), rate * _BURST_S
        if bucket is None:
            return full
        return min(bucket.tokens + rate * max(now_ms - bucket.at_ms, 0) / 1_000, full)

    def charged_all(self, charges: Iterable[Charge]) -> "MutationBuckets":
        """Return the buckets after subtracting an admitted request's charges."""
        buckets = self
        for charge in charges:
            buckets = buckets.charged(charge.allowance, charge.mutations)
        return buckets

    def charged(self, allowance: Allowance, mutations: int) -> "MutationBuckets":
        """Return the buckets after subtracting `mutations` partitions from one bucket.

        Args:
            allowance: The quota whose bucket is charged; if the quota has no bucket, nothing
                changes.
        """
        if allowance.bucket is None or not mutations:
            return self
        tokens, now_ms = allowance.tokens - mutations, allowance.now_ms
        missing = allowance.rate * _BURST_S - tokens
        full_at_ms = now_ms + missing / allowance.rate * 1_000
        buckets = self._by_client
        if len(buckets) >= _BUCKETS_MAX:
            buckets = Map({who: b for who, b in buckets.items() if b.full_at_ms > now_ms})
        return replace(
            self, _by_client=buckets.set(allowance.bucket, _Bucket(tokens, now_ms, full_at_ms))
        )


def _quota_of(image: MetadataImage, origin: Origin | None) -> tuple[QuotaEntity, float] | None:
    """Return the quota entity and rate that apply to the client, or None."""
    names = _names(origin)
    for entity in applying_entities(names):
        rate = image.quota(entity, MUTATION_RATE)
        if rate is not None:
            # Records may hold any double; NaN and negative rates admit nothing.
            usable = rate if rate > 0 else 0.0
            return tuple([(kind, names[kind]) for kind, _ in entity]), usable
    return None


def _names(origin: Origin | None) -> dict[str, str]:
    """Return user and client id of an origin; empty for the controller and brokers (no quota)."""
    principal = "" if origin is None else origin.principal or ""
    if origin is None or not principal.startswith(_USER_PRINCIPAL):
        return {}
    names = {USER: principal.removeprefix(_USER_PRINCIPAL)}
    if origin.client is not None:
        names[CLIENT_ID] = client_id_of(origin.client)
    return names
