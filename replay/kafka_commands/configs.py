"""Commands of kafka-configs for configs, quotas and users."""

from collections.abc import Iterator, Mapping

from replay.image.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, RESOURCE_NAMES, TOPIC
from replay.image.metadata import MetadataImage
from replay.image.quotas import QuotaEntity
from replay.kafka_commands.command import Command, NotSaid, Said
from replay.kafka_commands.secrets import Secrets, hidden_value

_ENTITY_TYPES = {
    TOPIC: "topics",
    BROKER: "brokers",
    BROKER_LOGGER: "broker-loggers",
    CLIENT_METRICS: "client-metrics",
    GROUP: "groups",
}
_QUOTA_TYPES = {"user": "users", "client-id": "clients", "ip": "ips"}
_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


def config_commands(before: MetadataImage, after: MetadataImage, secrets: Secrets) -> Said:
    """Yield the commands that turn the configs of one state into those of another.

    Configs of a topic that is created or deleted are left out: the command for the topic covers
    them.
    """
    old, new = dict(before.configs()), dict(after.configs())
    for resource in sorted({*old, *new}):
        resource_type, name = resource
        is_of_one = _has_topic(before, name) != _has_topic(after, name)
        if resource_type == TOPIC and (is_of_one or _is_in_namespace(after, name)):
            continue
        yield from _config(resource, old.get(resource, {}), new.get(resource, {}), secrets)


def _has_topic(image: MetadataImage, name: str) -> bool:
    return image.topic_by_full_name(name) is not None


def _is_in_namespace(image: MetadataImage, name: str) -> bool:
    topic = image.topic_by_full_name(name)
    return topic is not None and topic.namespace_id is not None


def _config(
    resource: tuple[int, str], old: Mapping[str, str], new: Mapping[str, str], secrets: Secrets
) -> Said:
    resource_type, name = resource
    label = f"{RESOURCE_NAMES.get(resource_type, resource_type)}/{name}"
    changed = {key: value for key, value in new.items() if old.get(key) != value}
    removed = sorted(old.keys() - new.keys())
    if not changed and not removed:
        return
    if resource_type not in _ENTITY_TYPES:
        yield NotSaid(object=f"config:{label}", reason="Kafka has no configs of such a resource")
        return
    values, hidden = secrets.split(changed)
    entity = ["--entity-type", _ENTITY_TYPES[resource_type]]
    entity += ["--entity-name", name] if name else ["--entity-default"]
    yield from _altered(f"config:{label}", entity, values, removed)
    for key in hidden:
        yield hidden_value(label, key)


def _altered(about: str, entity: list[str], values: Mapping[str, str], removed: list[str]) -> Said:
    added = []
    for key, value in values.items():
        text = _config_text(value)
        if text is None:
            reason = "kafka-configs cannot take a value with commas and brackets; use its own file"
            yield NotSaid(object=f"{about}#{key}", reason=reason)
        else:
            added.append(f"{key}={text}")
    arguments = ["--alter", *entity]
    if added:
        arguments += ["--add-config", ",".join(added)]
    if removed:
        arguments += ["--delete-config", ",".join(removed)]
    if added or removed:
        yield Command(object=about, tool="kafka-configs", arguments=arguments)


def _config_text(value: str) -> str | None:
    """Return a value in the syntax of kafka-configs, or None if that syntax cannot express it.

    A value with commas is put in brackets; a value with brackets cannot be expressed.
    """
    if "[" in value or "]" in value:
        return None
    return f"[{value}]" if "," in value else value


def quota_commands(before: MetadataImage, after: MetadataImage) -> Said:
    """Yield the commands that turn the quotas of one state into those of another."""
    old, new = _quotas(before), _quotas(after)
    for entity in sorted({*old, *new}, key=repr):
        values, had = new.get(entity, {}), old.get(entity, {})
        changed = {key: value for key, value in sorted(values.items()) if had.get(key) != value}
        removed = sorted(had.keys() - values.keys())
        about = "quota:" + ",".join(f"{kind}={name or '<default>'}" for kind, name in entity)
        yield from _altered(about, list(_quota_entity(entity)), changed, removed)


def _quotas(image: MetadataImage) -> dict[QuotaEntity, dict[str, str]]:
    found: dict[QuotaEntity, dict[str, str]] = {}
    for quota in image.quotas():
        found.setdefault(quota.entity, {})[quota.key] = _number(quota.value)
    return found


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _quota_entity(entity: QuotaEntity) -> Iterator[str]:
    for kind, name in sorted(entity, key=lambda pair: list(_QUOTA_TYPES).index(pair[0])):
        yield from ("--entity-type", _QUOTA_TYPES[kind])
        yield from ("--entity-default",) if name is None else ("--entity-name", name)


def user_commands(before: MetadataImage, after: MetadataImage) -> Said:
    """Yield commands that remove SCRAM credentials, and a remark for each new or changed one.

    No command can set a credential, because the log contains only hashes of the passwords.
    """
    old = {(each.name, each.mechanism): each for each in before.scram()}
    new = {(each.name, each.mechanism): each for each in after.scram()}
    for user, mechanism in sorted(old.keys() - new.keys()):
        entity = ["--entity-type", "users", "--entity-name", user]
        yield from _altered(f"scram:{user}", entity, {}, [_MECHANISMS[mechanism]])
    for user, mechanism in sorted(new):
        if old.get((user, mechanism)) != new[user, mechanism]:
            yield NotSaid(
                object=f"scram:{user}",
                reason=f"the log holds a hash, and {_MECHANISMS[mechanism]} is set by password: "
                f"kafka-configs --alter --entity-type users --add-config",
            )
