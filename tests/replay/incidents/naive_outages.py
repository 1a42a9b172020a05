"""Outages computed record by record from decoded JSON, without any code of the project.

After each record that takes effect, the whole state is checked for objects in an outage.
"""

from collections.abc import Iterable, Iterator
from typing import Any

Interval = tuple[str, str, int, int | None, int, int | None]
"""Object by topic id, kind, from and to offset, from and to time."""


class NaiveCluster:
    """Partitions, brokers and configs as plain dictionaries."""

    def __init__(self, assumed_min_isr: int = 0) -> None:
        self.assumed = assumed_min_isr
        self.topics: dict[str, str] = {}
        self.partitions: dict[tuple[str, int], dict[str, Any]] = {}
        self.brokers: dict[int, dict[str, bool]] = {}
        self.min_isr: dict[tuple[int, str], int] = {}

    def apply(self, kind: str, data: dict[str, Any]) -> bool:
        """Apply one record; return False if its type does not affect outages."""
        if kind == "TopicRecord":
            self.topics[data["topicId"]] = data["name"]
        elif kind == "RemoveTopicRecord":
            name = self.topics.pop(data["topicId"])
            self.min_isr.pop((2, name), None)
            for key in [key for key in self.partitions if key[0] == data["topicId"]]:
                del self.partitions[key]
        elif kind == "PartitionRecord":
            key = data["topicId"], data["partitionId"]
            self.partitions[key] = {
                "replicas": data["replicas"],
                "adding": data["addingReplicas"],
                "isr": data["isr"],
                "leader": data["leader"],
            }
        elif kind == "PartitionChangeRecord":
            found = self.partitions[data["topicId"], data["partitionId"]]
            for name, field in (("replicas", "replicas"), ("adding", "addingReplicas")):
                if data[field] is not None:
                    found[name] = data[field]
            if data["isr"] is not None:
                found["isr"] = data["isr"]
            if data["leader"] != -2:
                found["leader"] = data["leader"]
        elif kind == "RegisterBrokerRecord":
            self.brokers[data["brokerId"]] = {
                "fenced": data["fenced"],
                "shutting_down": data.get("inControlledShutdown", False),
            }
        elif kind == "UnregisterBrokerRecord":
            del self.brokers[data["brokerId"]]
        elif kind in ("FenceBrokerRecord", "UnfenceBrokerRecord"):
            self.brokers[data["id"]]["fenced"] = kind == "FenceBrokerRecord"
        elif kind == "BrokerRegistrationChangeRecord":
            broker = self.brokers[data["brokerId"]]
            if data["fenced"]:
                broker["fenced"] = data["fenced"] == 1
            broker["shutting_down"] |= data.get("inControlledShutdown") == 1
        elif kind == "ConfigRecord" and data["name"] == "min.insync.replicas":
            resource = data["resourceType"], data["resourceName"]
            if data["value"] is None:
                self.min_isr.pop(resource, None)
            else:
                self.min_isr[resource] = int(data["value"])
        else:
            return False
        return True

    def outages(self) -> Iterator[tuple[str, str]]:
        """Yield the object and kind of every current outage."""
        for (topic_id, number), it in self.partitions.items():
            name = f"partition:{topic_id}/{number}"
            wanted = len([r for r in it["replicas"] if r not in it["adding"]])
            cluster = self.min_isr.get((4, ""), self.assumed)
            min_isr = self.min_isr.get((2, self.topics[topic_id]), cluster)
            if it["leader"] == -1:
                yield name, "leaderless"
            if len(it["isr"]) < wanted:
                yield name, "under_replicated"
            if len(it["isr"]) < min_isr:
                yield name, "under_min_isr"
        for broker_id, broker in self.brokers.items():
            for kind, holds in broker.items():
                if holds:
                    yield f"broker:{broker_id}", kind


def naive_outages(rows: Iterable[dict[str, Any]], assumed_min_isr: int = 0) -> set[Interval]:
    """Return the outages in decoded records, which must not contain transactions."""
    cluster = NaiveCluster(assumed_min_isr)
    open_: dict[tuple[str, str], dict[str, Any]] = {}
    found: set[Interval] = set()
    for row in rows:
        if not cluster.apply(row["type"], row["data"]):
            continue
        now = set(cluster.outages())
        for name in [name for name in open_ if name not in now]:
            begun = open_.pop(name)
            times = begun["timestamp"], row["timestamp"]
            found.add((*name, begun["offset"], row["offset"], *times))
        for name in now:
            open_.setdefault(name, row)
    lasting = ((*n, r["offset"], None, r["timestamp"], None) for n, r in open_.items())
    return found.union(lasting)
