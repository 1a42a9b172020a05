"""Commands of kafka-features, and remarks about objects that no command can create."""

from collections.abc import Iterable

from replay.image.metadata import MetadataImage
from replay.kafka_commands.command import Command, NotSaid, Said

_OWN = frozenset({"namespace.version", "partition.mode.version"})


def feature_commands(before: MetadataImage, after: MetadataImage) -> Said:
    """Yield the commands that turn the feature levels of one state into those of another."""
    old, new = before.features(), after.features()
    for name in sorted({*old, *new} - _OWN):
        was, level = old.get(name, 0), new.get(name, 0)
        if was == level:
            continue
        if not old:
            yield NotSaid(
                object=f"feature:{name}",
                reason=f"a new cluster gets it: kafka-storage format --feature {name}={level}",
            )
            continue
        verb = "upgrade" if level > was else "downgrade"
        arguments = (verb, "--feature", f"{name}={level}")
        yield Command(object=f"feature:{name}", tool="kafka-features", arguments=arguments)


def unsaid(before: MetadataImage, after: MetadataImage) -> Said:
    """Yield a remark for each kind of object that differs and that no command can create."""
    old_ids = {topic.topic_id for topic in before.topics()}
    ids = sum(topic.topic_id not in old_ids for topic in after.topics())
    kinds = (
        ("topics", ids, "what is created has new ids, leaders and epochs, and no data"),
        ("brokers", _changed(before.brokers(), after.brokers()), "brokers register themselves"),
        (
            "controllers",
            _changed(before.controllers(), after.controllers()),
            "controllers register themselves",
        ),
        (
            "tokens",
            _changed(before.delegation_tokens(), after.delegation_tokens()),
            "a delegation token is created anew by its owner",
        ),
        (
            "namespaces",
            _changed(before.namespaces(), after.namespaces()),
            "Kafka has no namespaces",
        ),
        ("producer ids", before.producer_ids != after.producer_ids, "a cluster counts its own"),
    )
    for name, count, reason in kinds:
        if count:
            yield NotSaid(object=name, reason=reason)


def _changed(before: Iterable[object], after: Iterable[object]) -> int:
    return len({repr(each) for each in after} ^ {repr(each) for each in before})
