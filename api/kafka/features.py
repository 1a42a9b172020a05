"""Kafka features: adds their levels to ApiVersions responses, and converts UpdateFeatures."""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from api.kafka.errors import code_of
from api.kafka.messages.api_versions import (
    ApiVersionsResponse,
    FinalizedFeature,
    SupportedFeature,
)
from api.kafka.messages.features import (
    UPGRADE,
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from controller.decisions.features.levels_in_use import FeatureUpdate, UpdateFeatures, UpgradeType
from controller.decisions.levels import SUPPORTED_LEVELS
from records.errors import RequestError

_ZERO_LEVELS_SINCE = 4
"""First version of ApiVersions that names features whose lowest level is 0 (KIP-1022)."""

_SAFE_DOWNGRADE = 2
_UPGRADE_TYPES = {
    UPGRADE: UpgradeType.UPGRADE,
    _SAFE_DOWNGRADE: UpgradeType.SAFE_DOWNGRADE,
    3: UpgradeType.UNSAFE_DOWNGRADE,
}


class Features(msgspec.Struct, frozen=True, kw_only=True):
    """The finalized feature levels that a node knows.

    `offset` is the last offset of the metadata log that the levels take into account.
    """

    levels: Mapping[str, int] = {}
    offset: int = -1


def with_features(
    response: ApiVersionsResponse, features: Features, version: int
) -> ApiVersionsResponse:
    """Return an ApiVersions response with the supported and finalized feature levels added.

    Args:
        version: The request's version; before version 4, features whose lowest level is 0 are left
            out (KIP-1022).
    """
    return replace(
        response,
        supported_features=tuple(
            [
                SupportedFeature(name=name, min_version=low, max_version=high)
                for name, (low, high) in SUPPORTED_LEVELS.items()
                if low > 0 or version >= _ZERO_LEVELS_SINCE
            ]
        ),
        finalized_features_epoch=features.offset,
        finalized_features=tuple(
            [
                FinalizedFeature(name=name, max_version_level=level, min_version_level=level)
                for name, level in sorted(features.levels.items())
                if level > 0
            ]
        ),
    )


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
        raise RequestError(
            "INVALID_REQUEST", f"{key.feature}: upgrade type {code} is not 1, 2 or 3"
        )
    return found


def update_response(request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    """Return the response to a successful request."""
    results = [UpdatableFeatureResult(feature=each.feature) for each in request.feature_updates]
    return UpdateFeaturesResponse(results=tuple(results))


def update_refused(error: RequestError) -> UpdateFeaturesResponse:
    """Return the response to a refused request, in which no feature was changed."""
    return UpdateFeaturesResponse(error_code=code_of(error.code), error_message=str(error))
