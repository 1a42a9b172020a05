"""Which controller to ask: the leader if its address is known, else all controllers in turn.

A controller names the leader by its id, and since Kafka 3.9 by its address too. That address may be
one that only the cluster's own machines reach, so addresses that the user gave come first.
"""

from collections import deque
from collections.abc import Mapping, Sequence

from api.quorum.answers import Leader

Address = tuple[str, int]


class Leaders:
    """What is known about the quorum's leader and the controllers' addresses.

    Attributes:
        epoch: The latest leader epoch that a controller named; 0: none yet.
        leader_id: Id of that epoch's leader; None: not known.
    """

    def __init__(self, addresses: Sequence[Address], mapped: Mapping[int, Address]) -> None:
        """Begin without a leader.

        Args:
            addresses: Where to ask while no leader is known.
            mapped: Addresses by node id, used instead of those that the quorum tells.
        """
        self._addresses = deque(addresses)
        self._told: dict[int, Address] = {}
        self._logged: dict[int, Address] = {}
        self._known_addresses = mapped, self._told, self._logged
        self._failed: set[Address] = set()
        # Place of the address that `other_than` returned last.
        self._asked = -1
        self.epoch = 0
        self.leader_id: int | None = None

    def next_address(self) -> Address:
        """Return the address to ask next."""
        if self.leader_id is not None:
            found = [known.get(self.leader_id) for known in self._known_addresses]
            usable = [each for each in found if each is not None and each not in self._failed]
            if usable:
                return usable[0]
        return self._addresses[0]

    @property
    def has_leaders_address(self) -> bool:
        """True if the quorum, its log or the user named an address of the leader."""
        return any(self.leader_id in known for known in self._known_addresses)

    def other_than(self, address: Address) -> Address | None:
        """Return a controller's address other than `address`; None if none is known.

        Successive calls return all of them in turn.
        """
        found = dict.fromkeys(self._addresses)
        for known in self._known_addresses:
            found.update(dict.fromkeys(known.values()))
        found.pop(address, None)
        if not found:
            return None
        self._asked = (self._asked + 1) % len(found)
        return list(found)[self._asked]

    def at_least(self, leader_epoch: int) -> None:
        """Raise `epoch` to one that is known from the log; its leader is then unknown."""
        if leader_epoch > self.epoch:
            self.epoch, self.leader_id = leader_epoch, None

    def learn(self, node_id: int, address: Address) -> None:
        """Store a controller's address from the log; addresses in answers take precedence."""
        self._logged[node_id] = address

    def named(self, leader: Leader) -> bool:
        """Store the leader that an answer names; return whether epoch or leader are new.

        An earlier epoch, from a node that lags, is ignored.
        """
        if leader.leader_epoch < self.epoch:
            return False
        if leader.node_id >= 0 and leader.address is not None:
            self._told[leader.node_id] = leader.address
        leader_id = leader.node_id if leader.node_id >= 0 else None
        is_later = leader.leader_epoch > self.epoch
        is_news = is_later or (leader_id is not None and leader_id != self.leader_id)
        if is_news:
            self.epoch, self.leader_id = leader.leader_epoch, leader_id
            self._failed.clear()
        return is_news

    def failed(self, address: Address) -> None:
        """Note that an address does not answer, or is not the leader's."""
        self._failed.add(address)
        if address == self._addresses[0]:
            self._addresses.rotate(-1)
            if len(self._failed) > len(self._addresses):
                self._failed.clear()
