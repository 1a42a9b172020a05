"""JSON form of the features and their levels."""

import msgspec

from controller.descriptions.features import FeatureDescription


class FeatureList(msgspec.Struct, frozen=True, kw_only=True):
    """The level of each feature."""

    features: tuple[FeatureDescription, ...]
