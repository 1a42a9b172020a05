"""A naive replay of Kafka's records with dictionaries, without any code of the project.

Its input is records decoded by another program, and its result is the state in the form of that
program. The rules are those of Kafka's controller, which refuses a record that contradicts its
state.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

Data = dict[str, Any]

_ABSENT_FIELDS = {"isMigratingZkBroker": 2, "inControlledShutdown": 1, "logDirs": 3}
"""Fields of a broker that a registration of an older version lacks."""


class Contradiction(Exception):
    """The record at an offset contradicts the state."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class State:
    """The state of a cluster."""

    def __init__(self) -> None:
        self.features: dict[str, int] = {}
        self.topics: dict[str, str] = {}
        self.parts: dict[tuple[str, int], Data] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.brokers: dict[int, Data] = {}
        self.controllers: dict[int, Data] = {}
        self.producer = -1
        self.zk: int | None = None

    def as_json(self, end_offset: int) -> Data:
        """Return the state in the form of the other program."""
        parts = {json.dumps(list(key)): [list(key), part] for key, part in self.parts.items()}
        found = {
            "endOffset": end_offset,
            "features": sorted(map(list, self.features.items())),
            "topics": sorted(map(list, self.topics.items())),
            "parts": [parts[key] for key in sorted(parts)],
            "configs": [
                [list(key), dict(sorted(self.configs[key].items()))]
                for key in sorted(self.configs)
                if self.configs[key]
            ],
            "brokers": [[key, self.brokers[key]] for key in sorted(self.brokers)],
            "controllers": [[key, self.controllers[key]] for key in sorted(self.controllers)],
            "producer": self.producer,
            "scram": [],
            "acls": [],
            "quotas": [],
            "zk": self.zk,
            "tokens": [],
        }
        copied: Data = json.loads(json.dumps(found))
        return copied


def replayed(records: Iterable[tuple[int, str, int, Data]]) -> tuple[State, int | None]:
    """Replay (offset, type, version, data); return the state, and the offset of an open
    transaction.

    Raises:
        Contradiction: a record contradicts the state; names its offset.
    """
    state, begun = State(), None
    held: list[tuple[int, str, int, Data]] = []
    for record in records:
        offset, kind, _, _ = record
        if kind == "BeginTransactionRecord":
            if begun is not None:
                raise Contradiction(offset)
            begun = offset
        elif kind in ("EndTransactionRecord", "AbortTransactionRecord"):
            if begun is None:
                raise Contradiction(offset)
            if kind == "EndTransactionRecord":
                for each in held:
                    _apply(state, each)
            held, begun = [], None
        elif begun is None:
            _apply(state, record)
        else:
            held.append(record)
    return state, begun


def _apply(state: State, record: tuple[int, str, int, Data]) -> None:
    offset, kind, version, data = record
    rule = _RULES.get(kind)
    if rule is not None and not rule(state, data, version):
        raise Contradiction(offset)


def _feature(state: State, data: Data, _: int) -> bool:
    if data["featureLevel"]:
        state.features[data["name"]] = data["featureLevel"]
    else:
        state.features.pop(data["name"], None)
    return True


def _topic(state: State, data: Data, _: int) -> bool:
    if data["topicId"] in state.topics or data["name"] in state.topics.values():
        return False
    state.topics[data["topicId"]] = data["name"]
    return True


def _remove_topic(state: State, data: Data, _: int) -> bool:
    name = state.topics.pop(data["topicId"], None)
    if name is None:
        return False
    state.parts = {key: part for key, part in state.parts.items() if key[0] != data["topicId"]}
    state.configs.pop((2, name), None)
    return True


_OPTIONAL = ("directories", "eligibleLeaderReplicas", "lastKnownElr")


def _partition(state: State, data: Data, _: int) -> bool:
    if data["topicId"] not in state.topics:
        return False
    part = {name: value for name, value in data.items() if name not in ("topicId", "partitionId")}
    for name in _OPTIONAL:
        if not part.get(name):
            part.pop(name, None)
    state.parts[data["topicId"], data["partitionId"]] = part
    return True


def _change_partition(state: State, data: Data, _: int) -> bool:
    old = state.parts.get((data["topicId"], data["partitionId"]))
    if old is None:
        return False
    part = dict(old, partitionEpoch=old["partitionEpoch"] + 1)
    for name in ("isr", "replicas", "removingReplicas", "addingReplicas", *_OPTIONAL):
        if data.get(name) is not None and (name != "directories" or data[name]):
            part[name] = data[name]
    if data["leader"] != -2:
        part |= {"leader": data["leader"], "leaderEpoch": old["leaderEpoch"] + 1}
    if data["leaderRecoveryState"] != -1:
        part["leaderRecoveryState"] = data["leaderRecoveryState"]
    for name in _OPTIONAL:
        if not part.get(name):
            part.pop(name, None)
    state.parts[data["topicId"], data["partitionId"]] = part
    return True


def _config(state: State, data: Data, _: int) -> bool:
    values = state.configs.setdefault((data["resourceType"], data["resourceName"]), {})
    if data["value"] is None:
        values.pop(data["name"], None)
    else:
        values[data["name"]] = data["value"]
    return True


def _named(values: list[Data]) -> list[Data]:
    return sorted(values, key=lambda each: str(each["name"]))


def _register(state: State, data: Data, version: int) -> bool:
    broker = dict(data, endPoints=_named(data["endPoints"]), features=_named(data["features"]))
    for name, since in _ABSENT_FIELDS.items():
        if version < since:
            broker.pop(name, None)
    state.brokers[data["brokerId"]] = broker
    return True


def _set_fenced(fenced: bool) -> Callable[[State, Data, int], bool]:
    def rule(state: State, data: Data, _: int) -> bool:
        broker = state.brokers.get(data["id"])
        if broker is None or broker["brokerEpoch"] != data["epoch"]:
            return False
        broker["fenced"] = fenced
        return True

    return rule


def _change_broker(state: State, data: Data, _: int) -> bool:
    broker = state.brokers.get(data["brokerId"])
    if broker is None or broker["brokerEpoch"] != data["brokerEpoch"]:
        return False
    if data["fenced"]:
        broker["fenced"] = data["fenced"] == 1
    if data.get("inControlledShutdown") == 1 and "inControlledShutdown" in broker:
        broker["inControlledShutdown"] = True
    if data.get("logDirs") and "logDirs" in broker:
        broker["logDirs"] = data["logDirs"]
    return True


def _register_controller(state: State, data: Data, _: int) -> bool:
    state.controllers[data["controllerId"]] = dict(
        data, endPoints=_named(data["endPoints"]), features=_named(data["features"])
    )
    return True


def _producer_ids(state: State, data: Data, _: int) -> bool:
    if data["nextProducerId"] < state.producer:
        return False
    state.producer = data["nextProducerId"]
    return True


def _zk(state: State, data: Data, _: int) -> bool:
    state.zk = data["zkMigrationState"]
    return True


_RULES: dict[str, Callable[[State, Data, int], bool]] = {
    "FeatureLevelRecord": _feature,
    "TopicRecord": _topic,
    "RemoveTopicRecord": _remove_topic,
    "PartitionRecord": _partition,
    "PartitionChangeRecord": _change_partition,
    "ConfigRecord": _config,
    "RegisterBrokerRecord": _register,
    "FenceBrokerRecord": _set_fenced(True),
    "UnfenceBrokerRecord": _set_fenced(False),
    "BrokerRegistrationChangeRecord": _change_broker,
    "RegisterControllerRecord": _register_controller,
    "ProducerIdsRecord": _producer_ids,
    "ZkMigrationStateRecord": _zk,
}
