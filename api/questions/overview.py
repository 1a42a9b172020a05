"""Overview of an image: counts, brokers, and the first topics."""

import msgspec

from api.questions.past import Past
from api.questions.question import Computed, Question
from api.questions.redaction import redact_field
from replay.image.configs import TOPIC
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.incidents.health import health

_TOPICS_SHOWN = 50


class ShowOverview(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the overview of an image."""


class BrokerLine(msgspec.Struct, frozen=True, kw_only=True):
    """A broker, with the numbers of partitions that it leads and of replicas that it has."""

    broker: int
    is_fenced: bool
    rack: str | None
    leads: int
    replicas: int
    listeners: tuple[str, ...]


class TopicLine(msgspec.Struct, frozen=True, kw_only=True):
    """A topic, with the configs set on the topic itself."""

    name: str
    partitions: int
    leaderless: int
    configs: dict[str, str]


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Overview of an image. `topics` are the first 50 by name."""

    topic_count: int
    partition_count: int
    leaderless: int
    under_replicated: int
    features: dict[str, int]
    brokers: tuple[BrokerLine, ...]
    topics: tuple[TopicLine, ...]


def overview_shown(past: Past, at: int, request: ShowOverview) -> Computed:
    """Return the overview of the image as of an offset."""
    image = past.image(at)
    return Computed(answer=overview(image), about=lambda: past.about_image(image, at))


def overview(image: MetadataImage) -> Overview:
    """Return the overview of an image, in O(partitions) time."""
    partitions = [p for topic in image.topics() for p in image.partitions(topic.topic_id)]
    found = health(partitions)
    return Overview(
        topic_count=image.topic_count,
        partition_count=found.partitions,
        leaderless=found.leaderless,
        under_replicated=found.under_replicated,
        features=dict(sorted(image.features().items())),
        brokers=_brokers(image, partitions),
        topics=_topics(image),
    )


def _brokers(image: MetadataImage, partitions: list[Partition]) -> tuple[BrokerLine, ...]:
    led: dict[int, int] = {}
    held: dict[int, int] = {}
    for partition in partitions:
        led[partition.leader] = led.get(partition.leader, 0) + 1
        for replica in partition.replicas:
            held[replica] = held.get(replica, 0) + 1
    return tuple(
        [
            BrokerLine(
                broker=broker.broker_id,
                is_fenced=broker.fenced,
                rack=broker.rack,
                leads=led.get(broker.broker_id, 0),
                replicas=held.get(broker.broker_id, 0),
                listeners=tuple([f"{point.host}:{point.port}" for point in broker.end_points]),
            )
            for broker in sorted(image.brokers(), key=lambda broker: broker.broker_id)
        ]
    )


def _topics(image: MetadataImage) -> tuple[TopicLine, ...]:
    lines = []
    for name, topic in sorted((image.full_name(topic), topic) for topic in image.topics())[
        :_TOPICS_SHOWN
    ]:
        partitions = image.partitions(topic.topic_id)
        configs = sorted(image.config(TOPIC, name).items())
        lines.append(
            TopicLine(
                name=name,
                partitions=len(partitions),
                leaderless=health(partitions).leaderless,
                configs={key: redact_field("config", key, value) for key, value in configs},
            )
        )
    return tuple(lines)


OVERVIEW = Question(
    name="image overview", request=ShowOverview, answer=Overview, tell=overview_shown
)
