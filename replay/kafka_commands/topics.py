"""Commands of kafka-topics and kafka-reassign-partitions for topics and their partitions."""

import json
from collections.abc import Iterable

from replay.image.configs import TOPIC
from replay.image.metadata import MetadataImage
from replay.image.partition_list import Partitions
from replay.image.partitions import READ_WRITE, Partition
from replay.image.topics import Topic
from replay.kafka_commands.command import Command, NotSaid, Said
from replay.kafka_commands.secrets import Secrets, hidden_value


def topic_commands(before: MetadataImage, after: MetadataImage, secrets: Secrets) -> Said:
    """Yield commands that change the topics of `before` into those of `after`, in order of name."""
    old, new = _topics(before), _topics(after)
    for name in sorted(old.keys() - new.keys()):
        if old[name].namespace_id is None:
            yield Command(
                object=f"topic:{name}", tool="kafka-topics", arguments=("--delete", "--topic", name)
            )
    for name in sorted(new):
        if new[name].namespace_id is not None:
            if name not in old or _changed_partitions(before, old[name], after, new[name]):
                yield NotSaid(
                    object=f"topic:{name}", reason="it is in a namespace, which Kafka lacks"
                )
        elif name not in old:
            yield from _created(after, new[name], secrets)
        else:
            yield from _changed(name, before, old[name], after, new[name])


def _topics(image: MetadataImage) -> dict[str, Topic]:
    return {image.full_name(topic): topic for topic in image.topics()}


def _created(image: MetadataImage, topic: Topic, secrets: Secrets) -> Said:
    partitions = image.partitions(topic.topic_id)
    ids = [each.partition_id for each in partitions]
    if ids != list(range(len(ids))):
        reason = f"its partitions {','.join(map(str, ids))} are not numbered from 0 on"
        yield NotSaid(object=f"topic:{topic.name}", reason=reason)
        return
    values, hidden = secrets.split(image.config(TOPIC, topic.name))
    configs = [word for name, value in values.items() for word in ("--config", f"{name}={value}")]
    assignment = _assignment(partitions)
    yield Command(
        object=f"topic:{topic.name}",
        tool="kafka-topics",
        arguments=(
            *("--create", "--topic", topic.name, "--replica-assignment", assignment),
            *configs,
        ),
    )
    for name in hidden:
        yield hidden_value(f"topic/{topic.name}", name)
    yield from _not_kept(topic.name, partitions)


def _changed(
    name: str, before: MetadataImage, was: Topic, after: MetadataImage, topic: Topic
) -> Said:
    if was.topic_id != topic.topic_id:
        reason = "it was deleted and made again: what it held before does not come back"
        yield NotSaid(object=f"topic:{name}", reason=reason)
    old, new = before.partitions(was.topic_id), after.partitions(topic.topic_id)
    if len(new) < len(old):
        reason = f"it has {len(old)} partitions, {len(new)} are wanted: Kafka removes none"
        yield NotSaid(object=f"topic:{name}", reason=reason)
    elif len(new) > len(old):
        yield Command(
            object=f"topic:{name}",
            tool="kafka-topics",
            arguments=(
                *("--alter", "--topic", name, "--partitions", str(len(new))),
                *("--replica-assignment", _assignment(new)),
            ),
        )
    changed = _changed_partitions(before, was, after, topic)
    moved = [each for each in changed if each.partition_id < len(old)]
    if moved:
        yield _reassigned(name, moved)
    yield from _not_kept(name, changed)


def _changed_partitions(
    before: MetadataImage, was: Topic, after: MetadataImage, topic: Topic
) -> list[Partition]:
    """Return the partitions that are new, or whose replicas or mode differ."""
    old = {each.partition_id: each for each in before.partitions(was.topic_id)}
    return [
        each
        for each in after.partitions(topic.topic_id)
        if each.partition_id not in old or _placed(each) != _placed(old[each.partition_id])
    ]


def _placed(partition: Partition) -> tuple[object, ...]:
    adding, removing = partition.adding_replicas, partition.removing_replicas
    return partition.replicas, adding, removing, partition.mode


def _reassigned(name: str, moved: list[Partition]) -> Command:
    plan = {
        "version": 1,
        "partitions": [
            {"topic": name, "partition": each.partition_id, "replicas": list(each.replicas)}
            for each in moved
        ],
    }
    return Command(
        object=f"topic:{name}",
        tool="kafka-reassign-partitions",
        arguments=("--execute", "--reassignment-json-file"),
        file=json.dumps(plan),
    )


def _assignment(partitions: Partitions) -> str:
    return ",".join(":".join(map(str, each.replicas)) for each in partitions)


def _not_kept(name: str, partitions: Iterable[Partition]) -> Said:
    for each in partitions:
        about = f"partition:{name}/{each.partition_id}"
        if each.mode != READ_WRITE:
            yield NotSaid(object=f"{about}#mode", reason="Kafka has no modes")
        if each.adding_replicas or each.removing_replicas:
            reason = "a reassignment was running: it has the replicas from before and after it"
            yield NotSaid(object=about, reason=reason)
