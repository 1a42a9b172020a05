"""Effective configs compared with an independent model of the rules, on random levels.

The model is a plain search over a list of levels; it shares no code with the decisions. CASES in
the environment sets the number of cases.
"""

import os
from random import Random

import pytest
from msgspec.structs import replace

from controller.decisions.config_definitions.topics import TOPIC_CONFIGS
from controller.decisions.configs.effective import effective_config, settings_of, topic_levels
from controller.decisions.configs.impact import topics_changed
from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from records.configs import ConfigRecord
from replay.image.configs import BROKER, NAMESPACE, TOPIC
from tests.controller.cluster import Cluster

CASES = int(os.environ.get("CASES", "1000"))

# Each config: names on brokers with the factor to its unit, and the default. From Kafka's docs.
NAMES: dict[str, list[tuple[str, int]]] = {
    "retention.ms": [
        ("log.retention.ms", 1),
        ("log.retention.minutes", 60_000),
        ("log.retention.hours", 3_600_000),
    ],
    "segment.ms": [("log.roll.ms", 1), ("log.roll.hours", 3_600_000)],
    "min.insync.replicas": [("min.insync.replicas", 1)],
    "remote.storage.enable": [],
}
DEFAULTS = {
    "retention.ms": "604800000",
    "segment.ms": "604800000",
    "min.insync.replicas": "1",
    "remote.storage.enable": "false",
}
NAMESPACES = ["a", "a:b", "a:b:c", "a:bc", "d"]
TOPICS = ["t", "u", "a:t", "a:b:t", "a:b:c:t", "a:b:c:u", "a:bc:t", "d:t"]
NODE = 7

State = dict[tuple[int, str], dict[str, str]]
"""What each resource sets; (0, "") is the static file."""


def model_levels(state: State, topic: str, config: str) -> list[tuple[str, str, str]]:
    """Return (level, name there, effective value) of all settings, nearest level first."""
    namespace = topic.rpartition(":")[0]
    found = []
    places = [(TOPIC, topic)]
    while namespace:
        places.append((NAMESPACE, namespace))
        namespace = namespace.rpartition(":")[0]
    for type_, name in places:
        value = state.get((type_, name), {}).get(config)
        if value is not None:
            found.append((f"{'topic' if type_ == TOPIC else 'namespace'}/{name}", config, value))
    servers = [
        ((BROKER, str(NODE)), f"broker/{NODE}"),
        ((BROKER, ""), "cluster"),
        ((0, ""), "static"),
    ]
    for resource, level in servers:
        for name, factor in NAMES[config]:
            text = state.get(resource, {}).get(name)
            if text is not None:
                is_plain = factor == 1 or text.startswith("-")
                found.append((level, name, text if is_plain else str(int(text) * factor)))
    return found


def model_value(state: State, topic: str, config: str) -> str:
    levels = model_levels(state, topic, config)
    return levels[0][2] if levels else DEFAULTS[config]


class Machine:
    """A cluster with fixed namespaces and topics, whose configs change at random."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.cluster = Cluster()
        self.cluster.add_brokers(1, NODE)
        for name in NAMESPACES:
            if self.cluster.image.namespace_by_name(name) is None:
                self.cluster.do(create_namespace, CreateNamespace(name))
        for topic in TOPICS:
            namespace, _, name = topic.rpartition(":")
            self.cluster.create(name, [1], namespace=namespace)
        static = {"log.retention.hours": "5"} if rng.random() < 0.5 else {}
        self.cluster.settings = replace(self.cluster.settings, node_id=NODE, static_configs=static)
        self.state: State = {(0, ""): static}

    def change(self) -> tuple[tuple[int, str], list[ConfigRecord]]:
        """Change a random resource; return it and the records, not yet written."""
        rng = self.rng
        resource = rng.choice(
            [
                (TOPIC, rng.choice(TOPICS)),
                (NAMESPACE, rng.choice(NAMESPACES)),
                (BROKER, ""),
                (BROKER, str(NODE)),
                (BROKER, "1"),
            ]
        )
        is_server = resource[0] == BROKER
        names = {n for c in NAMES for n, _ in NAMES[c]} if is_server else set(NAMES)
        records = []
        for name in rng.sample(sorted(names), rng.choice([1, 1, 2])):
            value = rng.choice([None, "-1", "1", "2", "3"])
            records.append(
                ConfigRecord(
                    resource_type=resource[0], resource_name=resource[1], name=name, value=value
                )
            )
        return resource, records

    def apply(self, resource: tuple[int, str], records: list[ConfigRecord]) -> None:
        values = self.state.setdefault(resource, {})
        for record in records:
            values.pop(record.name, None)
            if record.value is not None:
                values[record.name] = record.value
        self.cluster.write(records)

    def check(self, topic: str, config: str) -> None:
        context = self.cluster.context()
        definition = TOPIC_CONFIGS[config]
        levels = list(topic_levels(context, self.cluster.topic(topic)))
        found = [(s.level, s.name, s.effective) for s in settings_of(iter(levels), definition)]
        assert found == model_levels(self.state, topic, config)
        effective = effective_config(iter(levels), definition).effective
        assert effective == model_value(self.state, topic, config)


def _values(state: State) -> dict[str, list[str]]:
    return {topic: [model_value(state, topic, config) for config in NAMES] for topic in TOPICS}


@pytest.mark.parametrize("seed", range(4))
def test_effective_values_and_the_number_of_topics_changed_are_those_of_the_model(
    seed: int,
) -> None:
    machine = Machine(Random(seed))
    for _ in range(CASES // 4):
        resource, records = machine.change()
        names = [record.name for record in records]
        count = topics_changed(machine.cluster.context(), resource, names, records)
        before = _values(machine.state)
        machine.apply(resource, records)
        after = _values(machine.state)
        inherits = resource[0] == NAMESPACE or resource in ((BROKER, ""), (BROKER, str(NODE)))
        expected = sum(before[topic] != after[topic] for topic in TOPICS)
        assert count == (expected if inherits else None)
        machine.check(machine.rng.choice(TOPICS), machine.rng.choice(list(NAMES)))
