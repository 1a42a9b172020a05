"""UpdateFeatures messages: changes of finalized feature levels.

Source: KIP-584, KIP-778 (upgrade types, version 1), KIP-1022 (no results, version 2).
"""

from typing import Annotated

from api.kafka.fields import Int8, Int16, Int32, Message, Request, Response, since, until

UPGRADE = 1


class FeatureUpdateKey(Message, frozen=True, kw_only=True):
    """A feature and its new level; a level below 1 deletes the feature."""

    feature: str
    max_version_level: Int16
    allow_downgrade: Annotated[bool, until(0)] = False
    upgrade_type: Annotated[Int8, since(1)] = UPGRADE


class UpdateFeaturesRequest(Request, frozen=True, kw_only=True):
    """Change the levels of features."""

    timeout_ms: Int32 = 60_000
    feature_updates: tuple[FeatureUpdateKey, ...]
    validate_only: Annotated[bool, since(1)] = False


class UpdatableFeatureResult(Message, frozen=True, kw_only=True):
    """Result of updating one feature: success or an error."""

    feature: str
    error_code: Int16 = 0
    error_message: str | None = None


class UpdateFeaturesResponse(Response, frozen=True, kw_only=True):
    """Success or an error; either all features are changed or none."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    results: Annotated[tuple[UpdatableFeatureResult, ...], since(0, 1)] = ()
