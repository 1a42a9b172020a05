"""Feature levels: the records of a new log, and changes.

Source: KIP-584, KIP-778, KIP-868 (bootstrap transaction); docs/kafka_rules.md,
sections 1 and 10.
"""

import enum
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from controller.decisions.config_definitions.topics import MIN_ISR
from controller.decisions.configs.min_isr_changes import cluster_minimum, safety_records
from controller.decisions.context.context import Context
from controller.decisions.levels import (
    ELR_FEATURE,
    METADATA_VERSION,
    MODE_FEATURE,
    NAMESPACE_FEATURE,
    SUPPORTED_LEVELS,
    TRANSACTIONS_LEVEL,
    feature_in_use,
)
from controller.decisions.names import named_more_than_once
from controller.decisions.request import Request
from controller.results.refusals import named_twice
from controller.results.result import ControllerResult
from records.base import Record
from records.configs import FeatureLevelRecord, ZkMigrationStateRecord
from records.control import BeginTransactionRecord, EndTransactionRecord
from records.errors import RequestError
from records.metadata_versions import CHANGED_METADATA
from replay.image.cluster import SupportedFeature
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.image.versions import UNKNOWN

# Below this level, the level itself is not written to the log.
_METADATA_VERSION_SETTABLE = 4
_ZK_MIGRATION_NONE = 0

_USES = {
    ELR_FEATURE: "partitions without an ISR could then not elect a leader",
    NAMESPACE_FEATURE: "there are namespaces, or ACLs of namespaces",
    MODE_FEATURE: "partitions are being removed",
}


class UpgradeType(enum.Enum):
    """Allowed direction of a change. Unsafe downgrades would lose metadata and are refused."""

    UPGRADE = "upgrade"
    SAFE_DOWNGRADE = "safe downgrade"
    UNSAFE_DOWNGRADE = "unsafe downgrade"


class FeatureUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """A feature and the level at which to finalize it; 0 removes it."""

    name: str
    level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE


class UpdateFeatures(Request[None], frozen=True, kw_only=True):
    """A request to change feature levels; if one change is refused, none is made."""

    updates: tuple[FeatureUpdate, ...]
    validate_only: bool = False


def bootstrap(context: Context, levels: Mapping[str, int]) -> ControllerResult[None]:
    """Return the records of a new log's feature levels; none if the log is not empty."""
    if replace(context.image, provenance=Provenance()) != MetadataImage.EMPTY:
        return ControllerResult(response=None)
    records = bootstrap_records(levels, context.settings.static_number(MIN_ISR))
    return ControllerResult(response=None, records=records)


def bootstrap_records(levels: Mapping[str, int], min_isr: int = 1) -> tuple[Record, ...]:
    """Return the first records of a new log: its feature levels, metadata.version first.

    They form one transaction if the metadata.version allows transactions.

    Args:
        min_isr: Static min.insync.replicas, stored as the cluster's if ELRs are tracked.
    """
    others = sorted((name, level) for name, level in levels.items() if name != METADATA_VERSION)
    version = levels[METADATA_VERSION]
    content: list[Record] = [FeatureLevelRecord(name=METADATA_VERSION, feature_level=version)]
    content.extend(FeatureLevelRecord(name=name, feature_level=level) for name, level in others)
    content.append(ZkMigrationStateRecord(zk_migration_state=_ZK_MIGRATION_NONE))
    if levels.get(ELR_FEATURE):
        content.append(cluster_minimum(min_isr))
    if version < TRANSACTIONS_LEVEL:
        return tuple(content)
    return (
        BeginTransactionRecord(name="Bootstrap records"),
        *content,
        EndTransactionRecord(),
    )


def update_features(context: Context, request: UpdateFeatures) -> ControllerResult[None]:
    """Change feature levels; if one change is refused, none is made.

    Raises:
        RequestError: INVALID_UPDATE_VERSION or INVALID_REQUEST.
    """
    twice = named_more_than_once([update.name for update in request.updates])
    if twice:
        raise named_twice(min(twice))
    for update in request.updates:
        _check(context, update)
    levels = [
        FeatureLevelRecord(name=update.name, feature_level=update.level)
        for update in request.updates
        if update.level != _level(context, update.name)
    ]
    enables_elr = any(each.name == ELR_FEATURE and each.level > 0 for each in request.updates)
    records = (*(safety_records(context) if enables_elr else ()), *levels)
    return ControllerResult(response=None, records=records).unless(request.validate_only)


def _check(context: Context, update: FeatureUpdate) -> None:
    if update.level < 0:
        raise _invalid(update, "a level is never negative")
    if update.level != 0 and update.name not in SUPPORTED_LEVELS:
        raise _invalid(update, f"there is no such feature, only {', '.join(SUPPORTED_LEVELS)}")
    obstacles = [] if update.level == 0 else list(_obstacles(context, update))
    if obstacles:
        raise _invalid(update, "; ".join(obstacles))
    current = _level(context, update.name)
    upgrade = update.upgrade_type is UpgradeType.UPGRADE
    if update.level < current and upgrade:
        raise _invalid(
            update, f"the feature is at level {current}; an upgrade needs a higher level"
        )
    if update.level > current and not upgrade:
        raise _invalid(
            update, f"the feature is at level {current}; a downgrade needs a lower level"
        )
    if update.name == METADATA_VERSION:
        _check_metadata_version(update, current)
    if update.level == 0 and _is_in_use(context, update.name):
        raise _invalid(update, f"the feature is in use: {_USES[update.name]}")


def _check_metadata_version(update: FeatureUpdate, current: int) -> None:
    if update.level < _METADATA_VERSION_SETTABLE:
        raise _invalid(update, f"the lowest possible level is {_METADATA_VERSION_SETTABLE}")
    if update.upgrade_type is UpgradeType.UNSAFE_DOWNGRADE:
        raise _invalid(update, "a downgrade that loses metadata is not supported")
    crossed = sorted(level for level in CHANGED_METADATA if update.level < level <= current)
    if crossed:
        raise _invalid(
            update,
            f"level {crossed[-1]} changed the metadata format, and this downgrade would lose data; "
            f"the lowest level without loss is {crossed[-1]}",
        )


def _is_in_use(context: Context, name: str) -> bool:
    if name == ELR_FEATURE:
        # Without eligible replicas no replica could lead.
        image = context.image
        return any(not p.isr for p in context.index.leaderless_partitions(image))
    return feature_in_use(context.image, name)


def _obstacles(context: Context, update: FeatureUpdate) -> Iterator[str]:
    """Yield a message for each node that does not support a level, with the remedy."""
    own = SUPPORTED_LEVELS.get(update.name, (0, 0))
    if not own[0] <= update.level <= own[1]:
        yield f"this release supports {own[0]} to {own[1]}"
    for broker in sorted(context.image.brokers(), key=lambda b: b.broker_id):
        if (found := _unsupported(update, broker.features)) is not None:
            state = "fenced, " if broker.fenced else ""
            yield (
                f"broker {broker.broker_id} {found} ({state}registered at offset "
                f"{broker.broker_epoch}): start it with a release that supports the level, or, if "
                f"it is gone for good, `metalog brokers unregister {broker.broker_id}`"
            )
    for controller in sorted(context.image.controllers(), key=lambda c: c.controller_id):
        if (found := _unsupported(update, controller.features)) is not None:
            number, offset = controller.controller_id, controller.version
            since = "before this log begins" if offset == UNKNOWN else f"at offset {offset}"
            yield (
                f"controller {number} {found} (registered {since}): start it with a release that "
                "supports the level"
            )


def _unsupported(update: FeatureUpdate, features: Iterable[SupportedFeature]) -> str | None:
    """Return text with the levels that a node supports; None if it supports the requested level."""
    known = {f.name: (f.min_supported_version, f.max_supported_version) for f in features}
    low, high = known.get(update.name, (0, 0))
    return None if low <= update.level <= high else f"supports {low} to {high}"


def _level(context: Context, name: str) -> int:
    if name == METADATA_VERSION:
        return context.metadata_version
    return context.image.feature(name) or 0


def _invalid(update: FeatureUpdate, reason: str) -> RequestError:
    return RequestError(
        "INVALID_UPDATE_VERSION", f"{update.name} cannot be set to {update.level}: {reason}"
    )
