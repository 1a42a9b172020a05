"""Configs that a release removed, or values that it no longer accepts.

Source: docs/upgrade of Kafka 4.0 (KIP-724, KIP-937, KIP-1030).
"""

from collections.abc import Iterator, Mapping

from controller.upgrade.releases import FOUR, Target
from replay.image.configs import BROKER, TOPIC

_FORMAT = "messages have one format since Kafka 3.0, so it has no effect"
_DIFFERENCE = "it is split in message.timestamp.before.max.ms and message.timestamp.after.max.ms"

_REMOVED_IN_FOUR: Mapping[tuple[int, str], str] = {
    (TOPIC, "message.format.version"): _FORMAT,
    (BROKER, "log.message.format.version"): _FORMAT,
    (TOPIC, "message.timestamp.difference.max.ms"): _DIFFERENCE,
    (BROKER, "log.message.timestamp.difference.max.ms"): _DIFFERENCE,
    (BROKER, "delegation.token.master.key"): "it is called delegation.token.secret.key",
    (BROKER, "offsets.commit.required.acks"): "all replicas acknowledge",
}

_LEAST_IN_FOUR: Mapping[tuple[int, str], int] = {
    (TOPIC, "segment.bytes"): 1024 * 1024,
    (BROKER, "log.segment.bytes"): 1024 * 1024,
    (BROKER, "remote.log.manager.copier.thread.pool.size"): 1,
    (BROKER, "remote.log.manager.expiration.thread.pool.size"): 1,
}


def config_findings(
    resource_type: int, values: Mapping[str, str], target: Target
) -> Iterator[tuple[str, str, str]]:
    """Yield each key that is invalid in the target version, the problem, and the remedy."""
    if target.release < FOUR:
        return
    for key, value in values.items():
        why = _REMOVED_IN_FOUR.get((resource_type, key))
        if why is not None:
            yield key, f"{key} was removed in Kafka 4.0", f"delete it before the upgrade: {why}"
        least = _LEAST_IN_FOUR.get((resource_type, key))
        if least is not None and _is_below(value, least):
            yield (
                key,
                f"{key} is {value}; Kafka 4.0 takes {least} or more",
                f"set it to {least} or more, or delete it, before the upgrade",
            )


def _is_below(value: str, least: int) -> bool:
    try:
        return int(value) < least
    except ValueError:
        return False
