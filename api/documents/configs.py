"""JSON form of a resource's configs, described and explained."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from api.documents.document import Document
from controller.decisions.configs.effective import CLUSTER_DEFAULT
from controller.descriptions.configs import ConfigExplained, ConfigSetting
from records.text import uuid_text
from replay.image import configs

if TYPE_CHECKING:
    from controller.descriptions.configs import DescribeConfigs, ExplainConfigs


class ConfigsDescribed(msgspec.Struct, frozen=True, kw_only=True):
    """The configs of a resource, and the resource's version; None if it has no version."""

    resource: str
    version: int | None
    configs: Sequence[ConfigSetting]


class ConfigsExplained(msgspec.Struct, frozen=True, kw_only=True):
    """The configs of a resource, each with the levels at which it is set."""

    resource: str
    configs: Sequence[ConfigExplained]


def _configs(request: "DescribeConfigs", answer: Any) -> ConfigsDescribed:
    return configs_described(request, answer, _resource(request))


def configs_described(request: "DescribeConfigs", answer: Any, resource: str) -> ConfigsDescribed:
    """Return the configs set on a resource; with `request.effective`, all that apply to it."""
    found = [each for each in answer.configs if request.effective or _is_own(each, request)]
    return ConfigsDescribed(resource=resource, version=answer.version, configs=found)


def _is_own(config: ConfigSetting, request: "DescribeConfigs") -> bool:
    """True if a config is set on the resource itself."""
    type_, name = request.resource_type, request.resource_name
    own = (
        "cluster"
        if (type_, name) == (configs.BROKER, CLUSTER_DEFAULT)
        else configs.RESOURCE_NAMES[type_]
    )
    return config.source == own and config.namespace in (None, name)


def _explained(request: "ExplainConfigs", answer: Any) -> ConfigsExplained:
    return ConfigsExplained(resource=_resource(request), configs=answer)


def _resource(request: "DescribeConfigs | ExplainConfigs") -> str:
    type_, name = request.resource_type, request.resource_name
    if (type_, name) == (configs.BROKER, CLUSTER_DEFAULT):
        return "cluster"
    text = f"@{uuid_text(name)}" if isinstance(name, bytes) else name
    return f"{configs.RESOURCE_NAMES[type_]}/{text}"


CONFIGS = Document(type=ConfigsDescribed, of=_configs, list_field="configs")
EXPLANATION = Document(type=ConfigsExplained, of=_explained, list_field="configs")
