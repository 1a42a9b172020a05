"""Obstacles to another version of Kafka, found in the state of a cluster.

A registration of a node that does not support the wanted metadata.version blocks the upgrade: the
controller compares the version with every registered broker and controller, running or not. Running
nodes are usually about to be upgraded. So a node is reported only if it seems left behind: other
nodes already support the version, or the node seems gone (a controller that is not a voter, or a
broker that is fenced while other brokers serve).

Source: FeatureControlManager and QuorumFeatures.reasonNotSupported of Kafka 4.0; KIP-584, KIP-778.
"""

from collections.abc import Iterable, Iterator

import msgspec

from controller.decisions.levels import METADATA_VERSION, METADATA_VERSION_OLDEST
from controller.upgrade.releases import (
    FEATURE_SINCE,
    FOUR,
    LEAST_LEVEL_OF_FOUR,
    Target,
)
from controller.upgrade.removed_configs import config_findings
from records.metadata_versions import CHANGED_METADATA, UNREGISTER_CONTROLLER_LEVEL, level_name
from replay.image.cluster import Broker, Controller
from replay.image.configs import RESOURCE_NAMES
from replay.image.metadata import MetadataImage
from replay.image.versions import UNKNOWN
from replay.time_travel.labels import escaped

_ZK_STATES = {1: "MIGRATION", 2: "PRE_MIGRATION", 4: "ZK"}
_FINISH_MIGRATION = (
    "finish the migration from ZooKeeper with Kafka 3.9: restart brokers and controllers without "
    "zookeeper settings"
)

CHECKED = (
    "registered brokers and controllers, metadata.version and other features, configs in the log, "
    "the migration from ZooKeeper; for a downgrade also every kept record"
)
"""What an upgrade check looks at."""

NOT_CHECKED = "the nodes' own files (server.properties), their software, and clients"
"""What an upgrade check cannot see, because it is not in the log."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An obstacle to another version.

    Attributes:
        offset: Offset of the record that caused the obstacle; None if before the kept history.
        object: The object concerned, such as `broker:3` or `config:topic/orders#segment.bytes`.
        remedy: How to remove the obstacle.
    """

    offset: int | None
    object: str
    text: str
    remedy: str


def state_findings(
    image: MetadataImage, target: Target, voter_ids: frozenset[int]
) -> Iterator[Finding]:
    """Yield the obstacles visible in the state; those in features and configs have no offset.

    Args:
        voter_ids: Voters of the quorum; empty if unknown.
    """
    yield from _registrations(image, target, voter_ids)
    yield from _level(image, target)
    yield from _features(image, target)
    yield from _migration(image, target)
    for (resource_type, name), values in image.configs():
        for key, text, remedy in config_findings(resource_type, values, target):
            where = f"{RESOURCE_NAMES.get(resource_type, resource_type)}/{escaped(name)}"
            yield Finding(
                offset=None,
                object=f"config:{where}#{key}",
                text=f"{where}: {text}",
                remedy=remedy,
            )


def _registrations(
    image: MetadataImage, target: Target, voter_ids: frozenset[int]
) -> Iterator[Finding]:
    brokers = sorted(image.brokers(), key=lambda each: each.broker_id)
    controllers = sorted(image.controllers(), key=lambda each: each.controller_id)
    nodes: list[Broker | Controller] = [*brokers, *controllers]
    is_begun = any(_supports(node, target) for node in nodes)
    is_serving = any(not broker.fenced for broker in brokers)
    for broker in brokers:
        if _supports(broker, target) is False and (is_begun or (broker.fenced and is_serving)):
            yield _broker_finding(broker)
    for controller in controllers:
        is_gone = bool(voter_ids) and controller.controller_id not in voter_ids
        if _supports(controller, target) is False and (is_begun or is_gone):
            yield _controller_finding(controller, image, is_gone)


def _supports(node: Broker | Controller, target: Target) -> bool | None:
    """True if a node supports the target's level; None if it does not declare its levels."""
    ranges = _ranges(node)
    return None if ranges is None else ranges[0] <= target.level <= ranges[1]


def _ranges(node: Broker | Controller) -> tuple[int, int] | None:
    """Return a node's lowest and highest supported metadata.version; None if not declared."""
    for feature in node.features:
        if feature.name == METADATA_VERSION:
            return feature.min_supported_version, feature.max_supported_version
    return None


def _range_text(node: Broker | Controller) -> str:
    low, high = _ranges(node) or (0, 0)
    return f"supports metadata.version {low} to {level_name(high)}"


def _broker_finding(broker: Broker) -> Finding:
    number = broker.broker_id
    state = "is fenced and" if broker.fenced else "still"
    return Finding(
        offset=broker.broker_epoch,
        object=f"broker:{number}",
        text=f"broker {number} {state} {_range_text(broker)}",
        remedy=f"start it with the new release, or, if it is gone for good: kafka-cluster.sh "
        f"unregister --bootstrap-server HOST:PORT --id {number}",
    )


def _controller_finding(controller: Controller, image: MetadataImage, is_gone: bool) -> Finding:
    number = controller.controller_id
    level = image.feature(METADATA_VERSION) or METADATA_VERSION_OLDEST
    again = (
        f"start a controller with node.id {number} and the new release once, so that it registers "
        "again (as an observer of a dynamic quorum, or as a voter of a static one)"
    )
    if level >= UNREGISTER_CONTROLLER_LEVEL:
        remedy = f"unregister controller {number} (KIP-1312)"
    else:
        remedy = (
            f"{again}; its registration can be removed only from metadata.version "
            f"{level_name(UNREGISTER_CONTROLLER_LEVEL)} on (KIP-1312)"
        )
    who = f"controller {number}, which is no voter," if is_gone else f"controller {number} still"
    return Finding(
        offset=None if controller.version == UNKNOWN else controller.version,
        object=f"controller:{number}",
        text=f"{who} {_range_text(controller)}",
        remedy=remedy,
    )


def _level(image: MetadataImage, target: Target) -> Iterator[Finding]:
    level = image.feature(METADATA_VERSION) or METADATA_VERSION_OLDEST
    about = f"feature:{METADATA_VERSION}"
    if target.release >= FOUR and level < LEAST_LEVEL_OF_FOUR:
        yield Finding(
            offset=None,
            object=about,
            text=f"metadata.version is {level_name(level)}; Kafka 4 starts from "
            f"{level_name(LEAST_LEVEL_OF_FOUR)} on",
            remedy="go to Kafka 3.9 first, and there: kafka-features.sh upgrade --metadata 3.9",
        )
    crossed = sorted(each for each in CHANGED_METADATA if target.level < each <= level)
    if crossed:
        yield Finding(
            offset=None,
            object=about,
            text=f"metadata.version is {level_name(level)}; metadata changed its form at "
            f"{', '.join(map(level_name, crossed))}, so Kafka refuses to go down to "
            f"{level_name(target.level)}",
            remedy="stay, or restore a checkpoint from before the upgrade on a new cluster",
        )


def _features(image: MetadataImage, target: Target) -> Iterator[Finding]:
    levels = {**image.features(), "kraft.version": image.kraft_version or 0}
    for name, level in sorted(levels.items()):
        if not level:
            continue
        since = FEATURE_SINCE.get(name)
        if since is not None and target.release < since:
            yield Finding(
                offset=None,
                object="cluster:kraft_version" if name == "kraft.version" else f"feature:{name}",
                text=f"{name} is {level}; Kafka {target.release[0]}.{target.release[1]} has no "
                "such feature",
                remedy="kraft.version cannot go down: stay at 3.9 or above"
                if name == "kraft.version"
                else f"kafka-features.sh disable --feature {name}",
            )


def _migration(image: MetadataImage, target: Target) -> Iterator[Finding]:
    if target.release < FOUR:
        return
    state = image.zk_migration
    if state in _ZK_STATES:
        yield Finding(
            offset=None,
            object="cluster:zk_migration",
            text=f"the migration from ZooKeeper is in state {_ZK_STATES[state]}; Kafka 4.0 has "
            "no ZooKeeper",
            remedy=_FINISH_MIGRATION,
        )
    for broker in sorted(image.brokers(), key=lambda each: each.broker_id):
        if broker.is_migrating_zk_broker:
            yield Finding(
                offset=broker.broker_epoch,
                object=f"broker:{broker.broker_id}",
                text=f"broker {broker.broker_id} is registered in ZooKeeper mode",
                remedy=_FINISH_MIGRATION,
            )


def voters_of(image: MetadataImage, last_named: Iterable[int]) -> frozenset[int]:
    """Return the ids of the quorum's voters.

    Those of a dynamic quorum are in the image; for a static quorum, `last_named` is returned: the
    voters listed by the last leader.
    """
    return frozenset(voter.voter_id for voter in image.voters()) or frozenset(last_named)
