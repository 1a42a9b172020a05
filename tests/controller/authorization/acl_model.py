"""A model of ACL decisions that checks every entry for every decision.

It shares no code with the authorizer, so that it can disagree.
"""

from dataclasses import dataclass
from ipaddress import ip_address, ip_network

ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = range(2, 9)
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = range(9, 13)
TOPIC, GROUP, CLUSTER, NAMESPACE = 2, 3, 4, 100
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3

# What an ALLOW of the operation on the left allows besides.
IMPLIED = {
    READ: {DESCRIBE},
    WRITE: {DESCRIBE},
    DELETE: {DESCRIBE},
    ALTER: {DESCRIBE},
    ALTER_CONFIGS: {DESCRIBE_CONFIGS},
}


@dataclass(frozen=True)
class Entry:
    resource_type: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int

    def is_on(self, resource_type: int, name: str) -> bool:
        if self.resource_type != resource_type:
            return False
        if self.pattern == PREFIXED:
            return name.startswith(self.name)
        return self.name in (name, "*")

    def is_for(self, principal: str, host: str, ranges: bool) -> bool:
        if self.principal not in (principal, "User:*"):
            return False
        if ranges and "/" in self.host:
            return ip_address(host) in ip_network(self.host)
        return self.host in (host, "*")

    def covers(self, operation: int) -> bool:
        if self.operation in (operation, ALL):
            return True
        return self.permission == ALLOW and operation in IMPLIED.get(self.operation, set())


@dataclass(frozen=True)
class Model:
    entries: tuple[Entry, ...]
    super_users: frozenset[str] = frozenset()
    allow_everyone: bool = False
    ranges: bool = False

    def allows(
        self, principal: str, host: str, operation: int, resource_type: int, name: str
    ) -> bool:
        if principal in self.super_users:
            return True
        around = self._on_namespaces(resource_type, name)
        matching = around + [e for e in self.entries if e.is_on(resource_type, name)]
        mine = [e for e in matching if e.is_for(principal, host, self.ranges)]
        applying = [e for e in mine if e.covers(operation)]
        if any(e.permission == DENY for e in applying):
            return False
        if resource_type == TOPIC and ":" in name and not self._enters(around, principal, host):
            return False
        if applying:
            return True
        return self.allow_everyone and not matching

    def _on_namespaces(self, resource_type: int, name: str) -> list[Entry]:
        """The entries on the namespaces that a topic or namespace lies in."""
        if resource_type not in (TOPIC, NAMESPACE):
            return []
        tiers = name.split(":")[:-1]
        outer = [":".join(tiers[: n + 1]) for n in range(len(tiers))]
        return [e for e in self.entries if any(e.is_on(NAMESPACE, each) for each in outer)]

    def _enters(self, around: list[Entry], principal: str, host: str) -> bool:
        if not around:
            return self.allow_everyone
        return any(e.permission == ALLOW and e.is_for(principal, host, self.ranges) for e in around)
