"""The comments of resource types name every code that is stored."""

import inspect
import re

import pytest

from controller.authorization.authorizer import ResourceType
from records.configs import ConfigRecord
from records.security import AccessControlEntryRecord
from replay.image import configs
from replay.sql_history.tables import metadata

_CONFIGS = {
    configs.BROKER,
    configs.BROKER_LOGGER,
    configs.CLIENT_METRICS,
    configs.GROUP,
    configs.NAMESPACE,
    configs.TOPIC,
}
_ACLS = {each.value for each in ResourceType}


@pytest.mark.parametrize(
    ("record", "table", "codes"),
    [
        (ConfigRecord, "config_version", _CONFIGS),
        (AccessControlEntryRecord, "acl_version", _ACLS),
    ],
)
def test_every_code_is_named(record: type, table: str, codes: set[int]) -> None:
    comment = metadata.tables[table].columns["resource_type"].comment
    assert comment is not None
    assert {int(code) for code in re.findall(r"\d+", comment)} == codes
    documented = " ".join((inspect.getdoc(record) or "").split())
    assert comment.rstrip(".") in documented
