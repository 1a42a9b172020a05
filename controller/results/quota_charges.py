"""Mutation quotas: the allowance of a client or namespace, and what a request charges to it."""

import math

import msgspec

from records.errors import RequestError
from replay.image.quotas import QuotaEntity

MUTATION_RATE = "controller_mutation_rate"
"""Key of the quota: partitions created or deleted per second."""

# 32 bits in Kafka's protocol.
_RETRY_MS_MAX = 2**31 - 1


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """The remaining quota of a client or namespace at `now_ms`.

    `bucket` is the entity whose tokens are used; None for a client means that it has no quota.
    `subject` is the quota's name in errors.
    """

    bucket: QuotaEntity | None = None
    subject: str = f"this client's quota {MUTATION_RATE}"
    rate: float = math.inf
    tokens: float = math.inf
    now_ms: int = 0

    def check(self, spent: int) -> None:
        """Check that one more operation is allowed, after `spent` partitions of the same request.

        Raises:
            RequestError: THROTTLING_QUOTA_EXCEEDED, the bucket is in debt, or never fills.
        """
        if not self.rate:
            raise RequestError(
                "THROTTLING_QUOTA_EXCEEDED",
                f"{self.subject} is 0; try again once that rate is raised",
                retry_ms=_RETRY_MS_MAX,
            )
        debt = spent - self.tokens
        if debt > 0:
            retry_ms = math.ceil(min(debt / self.rate * 1_000, _RETRY_MS_MAX))
            raise RequestError(
                "THROTTLING_QUOTA_EXCEEDED",
                f"{self.subject} is used up; try again in {retry_ms} ms",
                retry_ms=retry_ms,
            )


UNLIMITED = Allowance()


class Charge(msgspec.Struct, frozen=True):
    """The number of partitions to subtract from a bucket for an admitted request."""

    allowance: Allowance
    mutations: int
