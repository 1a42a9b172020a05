"""Documents of a resource's configs, described and explained."""

from collections.abc import Sequence

import msgspec

from controller.descriptions.configs import ConfigExplained, ConfigSetting


class ConfigsDescribed(msgspec.Struct, frozen=True, kw_only=True):
    """The configs of a resource, and their version; None if the resource has no version."""

    resource: str
    version: int | None
    configs: Sequence[ConfigSetting]


class ConfigsExplained(msgspec.Struct, frozen=True, kw_only=True):
    """The configs of a resource, with the levels that set each."""

    resource: str
    configs: Sequence[ConfigExplained]
