"""The failures that a test ordered, and which of the next answers each is for."""

from dataclasses import dataclass

from tests.stand_in_quorum.faults import Fault


@dataclass
class Order:
    """A failure of the next `left` answers, after `after` others.

    `key` and `node_id` say of which requests and of which node; None is any.
    """

    fault: Fault
    key: int | None
    node_id: int | None
    after: int
    left: int


class Orders:
    """Orders, the oldest first."""

    def __init__(self) -> None:
        self._orders: list[Order] = []

    def add(self, order: Order) -> None:
        self._orders.append(order)

    def clear(self) -> None:
        self._orders.clear()

    def take(self, node_id: int, key: int) -> Fault:
        """Return the fault of an answer that is about to be given."""
        for order in self._orders:
            if order.key in (None, key) and order.node_id in (None, node_id):
                if order.after:
                    order.after -= 1
                    continue
                order.left -= 1
                if not order.left:
                    self._orders.remove(order)
                return order.fault
        return Fault()
