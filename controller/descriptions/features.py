"""Descriptions of the features."""

import msgspec

from controller.decisions.levels import SUPPORTED_LEVELS
from controller.decisions.request import Request
from controller.descriptions.view import View


class DescribeFeatures(Request["tuple[FeatureDescription, ...]"], frozen=True, kw_only=True):
    """A request for the levels of all features."""


class FeatureDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A feature's level, 0 if it is not finalized, and the lowest and highest supported level."""

    feature: str
    level: int
    supported: tuple[int, int]


def features_described(view: View, request: DescribeFeatures) -> tuple[FeatureDescription, ...]:
    """Describe every feature that is finalized or supported, ordered by name."""
    levels = view.image.features()
    return tuple(
        [
            FeatureDescription(
                feature=name,
                level=levels.get(name, 0),
                supported=SUPPORTED_LEVELS.get(name, (0, 0)),
            )
            for name in sorted(levels.keys() | SUPPORTED_LEVELS.keys())
        ]
    )
