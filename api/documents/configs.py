"""Configs of a resource: described and explained."""

from collections.abc import Sequence

import msgspec

from controller.descriptions.configs import ConfigExplained, ConfigSetting


class ConfigsDescribed(msgspec.Struct, frozen=True, kw_only=True):
    """The configs of a resource, and their version; None if it has none."""

    resource: str
    version: int | None
    configs: Sequence[ConfigSetting]


class ConfigsExplained(msgspec.Struct, frozen=True, kw_only=True):
    """The levels that set the configs of a resource."""

    resource: str
    configs: Sequence[ConfigExplained]
