"""JSON form of a resource's configs, described and explained."""

from collections.abc import Sequence

import msgspec

from controller.descriptions.configs import ConfigExplained, ConfigSetting


class ConfigsDescribed(msgspec.Struct, frozen=True, kw_only=True):
    """The configs of a resource, and the resource's version; None if it has no version."""

    resource: str
    version: int | None
    configs: Sequence[ConfigSetting]


class ConfigsExplained(msgspec.Struct, frozen=True, kw_only=True):
    """The configs of a resource, each with the levels at which it is set."""

    resource: str
    configs: Sequence[ConfigExplained]
