"""An image as JSON and as text."""

from collections.abc import Iterator
from typing import Any

from api.cli.output import count_text, print_line, print_table, time_text, value_text
from api.redaction import redact_field, redact_label
from replay.image.metadata import MetadataImage
from replay.time_travel.kinds import KINDS, Kind
from replay.time_travel.versions import VERSIONED_KINDS, object_version

# The names that people use for all objects of a kind.
PARTS: dict[str, Kind] = {
    {"cluster": "cluster", "scram": "scram"}.get(name, f"{name}s"): kind
    for name, kind in KINDS.items()
}
_TOPICS_SHOWN = 50
_NO_LEADER = -1


def image_document(
    image: MetadataImage, about: dict[str, Any], parts: list[str] | None, *, show_secrets: bool
) -> dict[str, Any]:
    """Return an image as one JSON document: its objects by part, each with its fields."""
    objects = {
        part: [
            {"object": name, **_version(image, PARTS[part], key), **fields}
            for name, key, fields in _objects(image, PARTS[part], show_secrets=show_secrets)
        ]
        for part in parts or PARTS
    }
    return {**about, "parts": objects}


def _version(image: MetadataImage, kind: Kind, key: Any) -> dict[str, int]:
    """Return the offset of the last record that touched an object; -1 if it is not known."""
    if kind.name not in VERSIONED_KINDS:
        return {}
    return {"version": object_version(image, kind.name, key)}


def print_image(
    image: MetadataImage, about: dict[str, Any], parts: list[str] | None, *, show_secrets: bool
) -> None:
    """Print an image: an overview, or all objects of the requested parts."""
    print_line(_heading(about))
    if not parts:
        _print_overview(image)
        return
    for part in parts:
        for name, _, fields in _objects(image, PARTS[part], show_secrets=show_secrets):
            said = " ".join(f"{field}={value_text(value)}" for field, value in fields.items())
            print_line(f"{name}  {said}")


def _heading(about: dict[str, Any]) -> str:
    if about["log_end"] == about["history_start"]:
        return f"the log is empty: its first record will be {about['log_end']}"
    text = f"as of offset {about['as_of']}, {time_text(about['as_of_timestamp'])}"
    if about["as_of"] < about["history_start"]:
        text = "before the first record"
    if about.get("mid_batch"):
        text += ", inside a batch"
    if "pending_transaction" in about:
        text += f", before the transaction that began at {about['pending_transaction']}"
    if about.get("confirmed_end", about["log_end"]) <= about["as_of"]:
        text += f"; not confirmed from offset {about['confirmed_end']} on"
    text += _not_understood(about["not_understood"])
    return f"{text} (the log holds {about['history_start']} to {about['log_end'] - 1})"


def _not_understood(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    first = found["first_offset"]
    since = "before the kept history" if first is None else f"at offset {first}"
    return f"; {count_text(found['records'], 'record')} not understood, the first {since}"


def _objects(
    image: MetadataImage, kind: Kind, *, show_secrets: bool
) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    named = sorted((kind.label(image, key), repr(key), key) for key, _ in kind.objects(image))
    for label, _, key in named:
        fields = kind.fields(image, key) or {}
        if not show_secrets:
            label = redact_label(kind.name, label)
            fields = {name: redact_field(kind.name, name, v) for name, v in fields.items()}
        yield f"{kind.name}:{label}", key, fields


def _print_overview(image: MetadataImage) -> None:
    partitions = [p for topic in image.topics() for p in image.partitions(topic.topic_id)]
    leaderless = sum(p.leader == _NO_LEADER for p in partitions)
    under_replicated = sum(len(p.isr) < len(p.replicas) for p in partitions)
    brokers = sorted(image.brokers(), key=lambda broker: broker.broker_id)
    fenced = sum(broker.fenced for broker in brokers)
    print_line(
        f"  {count_text(image.topic_count, 'topic')}, {count_text(len(partitions), 'partition')}: "
        f"{leaderless:,} without a leader, {under_replicated:,} under-replicated"
    )
    print_line(f"  {count_text(len(brokers), 'broker')}: {fenced:,} fenced")
    if image.features():
        levels = ", ".join(f"{name} {level}" for name, level in sorted(image.features().items()))
        print_line(f"  features: {levels}")
    print_line()
    _print_brokers(image)
    _print_topics(image)


def _print_brokers(image: MetadataImage) -> None:
    led: dict[int, int] = {}
    held: dict[int, int] = {}
    for topic in image.topics():
        for partition in image.partitions(topic.topic_id):
            led[partition.leader] = led.get(partition.leader, 0) + 1
            for replica in partition.replicas:
                held[replica] = held.get(replica, 0) + 1
    rows = [
        (
            broker.broker_id,
            "fenced" if broker.fenced else "active",
            broker.rack,
            led.get(broker.broker_id, 0),
            held.get(broker.broker_id, 0),
            ", ".join(f"{point.host}:{point.port}" for point in broker.end_points),
        )
        for broker in sorted(image.brokers(), key=lambda broker: broker.broker_id)
    ]
    if rows:
        print_table(("broker", "state", "rack", "leads", "replicas", "listeners"), rows)


def _print_topics(image: MetadataImage) -> None:
    topics = sorted((image.full_name(topic), topic) for topic in image.topics())
    rows = []
    for name, topic in topics[:_TOPICS_SHOWN]:
        found = image.partitions(topic.topic_id)
        config = KINDS["config"].fields(image, (2, name)) or {}
        said = " ".join(f"{key}={redact_field('config', key, v)}" for key, v in config.items())
        leaderless = sum(partition.leader == _NO_LEADER for partition in found)
        rows.append((name, len(found), leaderless or "", said))
    if rows:
        print_line()
        print_table(("topic", "partitions", "leaderless", "configs"), rows)
    if len(topics) > _TOPICS_SHOWN:
        print_line(f"... and {len(topics) - _TOPICS_SHOWN:,} more: --part topics")
