"""UpdateFeatures: conversion between Kafka's messages and our command."""

from api.kafka.errors import code_of
from api.kafka.messages.features import (
    UPGRADE,
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from controller.decisions.features import FeatureUpdate, UpdateFeatures, UpgradeType
from records.errors import RequestError

_SAFE_DOWNGRADE = 2
_UPGRADE_TYPES = {
    UPGRADE: UpgradeType.UPGRADE,
    _SAFE_DOWNGRADE: UpgradeType.SAFE_DOWNGRADE,
    3: UpgradeType.UNSAFE_DOWNGRADE,
}


def update(request: UpdateFeaturesRequest) -> UpdateFeatures:
    """Return the command for an UpdateFeatures.

    Raises:
        RequestError: INVALID_REQUEST, there is no such upgrade type.
    """
    return UpdateFeatures(
        updates=tuple(
            [
                FeatureUpdate(
                    name=each.feature,
                    level=each.max_version_level,
                    upgrade_type=_upgrade_type(each),
                )
                for each in request.feature_updates
            ]
        ),
        validate_only=request.validate_only,
    )


def _upgrade_type(key: FeatureUpdateKey) -> UpgradeType:
    # Version 0 has no types: its downgrades are safe ones.
    code = _SAFE_DOWNGRADE if key.allow_downgrade else key.upgrade_type
    found = _UPGRADE_TYPES.get(code)
    if found is None:
        raise RequestError("INVALID_REQUEST", f"{key.feature}: there is no upgrade type {code}")
    return found


def update_response(request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    """Return the response to a request that was carried out."""
    results = [UpdatableFeatureResult(feature=each.feature) for each in request.feature_updates]
    return UpdateFeaturesResponse(results=tuple(results))


def update_refused(error: RequestError) -> UpdateFeaturesResponse:
    """Return the response to a refused request: one refused feature refuses all."""
    return UpdateFeaturesResponse(error_code=code_of(error.code), error_message=str(error))
