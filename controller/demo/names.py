"""Names for topics, made of words that the teams of a shop would use."""

from random import Random

_DOMAINS = (
    *("orders", "payments", "invoices", "refunds", "carts", "catalog", "prices", "stock"),
    *("shipments", "returns", "customers", "accounts", "sessions", "clicks", "searches"),
    *("reviews", "loyalty", "coupons", "emails", "pushes", "fraud", "ledger", "suppliers"),
    *("warehouse", "routes", "couriers", "forecasts", "experiments"),
)
_KINDS = ("events", "commands", "changes", "snapshots", "retries", "audit", "metrics", "replies")

_PARTITIONS = (1, 1, 3, 3, 3, 5, 6, 6, 9, 10, 12, 12, 15, 15, 15, 24, 30)

_NAMESPACES = ("shop:checkout", "shop:search", "shop:stock", "data:features", "data:reports")


class Names:
    """Generator of topic names (each returned only once), namespaces and partition counts."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._given: set[str] = set()

    def topic(self) -> str:
        """Return a new name, such as `orders.events.v2`."""
        version = 1
        while True:
            name = f"{self._rng.choice(_DOMAINS)}.{self._rng.choice(_KINDS)}.v{version}"
            if name not in self._given:
                self._given.add(name)
                return name
            version += 1

    def partitions(self) -> int:
        """Return a partition count for a new topic; small ones are common."""
        return self._rng.choice(_PARTITIONS)

    def namespace(self) -> str:
        """Return the name of a namespace, which may exist already."""
        return self._rng.choice(_NAMESPACES)
