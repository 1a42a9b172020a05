"""Record lists that count the partitions and topics a request creates or deletes, for quotas."""

from collections.abc import Iterable, Mapping

from controller.decisions.context.context import Context, RecordList
from controller.decisions.quotas.namespace_limits import NamespaceLimits
from controller.results.quota_charges import Allowance, Charge
from replay.image.quotas import QuotaEntity


class CountedRecordList(RecordList):
    """Records of one request, counting the partitions and topics it creates and deletes."""

    def __init__(self, context: Context) -> None:
        """Start without records, with the caller's quota and the namespaces' limits."""
        super().__init__()
        self._context = context
        self._client = context.allowance
        self._limits = NamespaceLimits(context.access, context.index.uses)
        # The quotas that partitions were taken from, and how many.
        self._charges: dict[QuotaEntity, Charge] = {}

    def mutate(self, partitions: Mapping[str, int]) -> None:
        """Count the partitions, by namespace, that one operation creates or deletes.

        Raises:
            RequestError: THROTTLING_QUOTA_EXCEEDED.
        """
        quotas = {namespace: self._checked_quotas(namespace) for namespace in partitions}
        for namespace, count in partitions.items():
            self._charge(quotas[namespace], count)

    def grow(self, namespace: str, *, partitions: int, topics: int = 0) -> None:
        """Count topics and partitions that are created in a namespace.

        Raises:
            RequestError: THROTTLING_QUOTA_EXCEEDED; POLICY_VIOLATION, a limit of the namespace.
        """
        quotas = self._checked_quotas(namespace)
        self._limits.add(namespace, topics=topics, partitions=partitions)
        self._charge(quotas, partitions)

    def move(self, namespace: str, *, moved_from: str, partitions: int) -> None:
        """Count a topic that moves from one namespace to another.

        Raises:
            RequestError: POLICY_VIOLATION, a limit of the namespace.
        """
        self._limits.add(namespace, topics=1, partitions=partitions, moved_from=moved_from)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The number of counted partitions to subtract from each quota."""
        return tuple(self._charges.values())

    def _checked_quotas(self, namespace: str) -> list[Allowance]:
        context = self._context
        found = self._limits.allowances(context.buckets, namespace, context.now_ms)
        quotas = [self._client, *found]
        for quota in quotas:
            quota.check(self._spent(quota))
        return quotas

    def _charge(self, quotas: Iterable[Allowance], partitions: int) -> None:
        for quota in quotas:
            if quota.bucket is not None:
                self._charges[quota.bucket] = Charge(quota, self._spent(quota) + partitions)

    def _spent(self, quota: Allowance) -> int:
        charge = None if quota.bucket is None else self._charges.get(quota.bucket)
        return 0 if charge is None else charge.mutations
