"""Effects of config, feature, quota, producer id and migration records."""

import pytest
from immutables import Map

from records.configs import (
    ClientQuotaRecord,
    ConfigRecord,
    EntityData,
    FeatureLevelRecord,
    ProducerIdsRecord,
    ZkMigrationStateRecord,
)
from records.errors import ContradictionError
from replay.image.configs import ConfigsDelta
from replay.image.producer_ids import ProducerIds
from replay.image.quotas import ClientQuota
from tests.replay.builders import image_of


def _config(name: str, value: str | None, resource_name: str = "t") -> ConfigRecord:
    return ConfigRecord(resource_type=2, resource_name=resource_name, name=name, value=value)


def _quota(
    *entity: tuple[str, str | None], value: float = 1.0, remove: bool = False
) -> ClientQuotaRecord:
    parts = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity)
    return ClientQuotaRecord(entity=parts, key="rate", value=value, remove=remove)


def _producer_ids(next_producer_id: int) -> ProducerIdsRecord:
    return ProducerIdsRecord(broker_id=1, broker_epoch=10, next_producer_id=next_producer_id)


def test_configs_are_kept_by_resource() -> None:
    image = image_of(_config("a", "1"), _config("b", "2"), _config("a", "3", "u"))
    assert image.config(2, "t") == {"a": "1", "b": "2"}
    assert dict(image.configs()) == {(2, "t"): {"a": "1", "b": "2"}, (2, "u"): {"a": "3"}}
    assert image.config(4, "t") == {}


def test_null_value_removes_a_config_whether_or_not_it_was_set() -> None:
    assert image_of(_config("a", "1"), _config("b", "2"), _config("a", None)).config(2, "t") == {
        "b": "2"
    }
    assert list(image_of(_config("a", None)).configs()) == []


def test_empty_value_is_a_value() -> None:
    assert image_of(_config("a", "")).config(2, "t") == {"a": ""}


def test_resource_without_configs_leaves_nothing_behind() -> None:
    assert list(image_of(_config("a", "1"), _config("a", None)).configs()) == []


def test_image_keeps_its_configs_when_its_delta_goes_on() -> None:
    delta = ConfigsDelta(Map())
    delta.set(_config("a", "1"), 3)
    before = delta.apply()
    assert delta.apply() is before
    delta.set(_config("a", "2"), 4)
    after = delta.apply()
    assert [(dict(c.values), c.version) for c in before.values()] == [({"a": "1"}, 3)]
    assert [(dict(c.values), c.version) for c in after.values()] == [({"a": "2"}, 4)]


def test_feature_level_zero_removes_the_feature() -> None:
    set_twice = (
        FeatureLevelRecord(name="f", feature_level=1),
        FeatureLevelRecord(name="f", feature_level=2),
    )
    image = image_of(*set_twice)
    assert (image.features(), image.feature("f"), image.feature("g")) == ({"f": 2}, 2, None)
    assert image_of(*set_twice, FeatureLevelRecord(name="f", feature_level=0)).features() == {}
    assert image_of(FeatureLevelRecord(name="f", feature_level=0)).features() == {}


def test_quota_entity_is_a_set() -> None:
    image = image_of(
        _quota(("user", "u"), ("client-id", None), value=1.0),
        _quota(("client-id", None), ("user", "u"), value=2.5),
    )
    assert list(image.quotas()) == [ClientQuota((("client-id", None), ("user", "u")), "rate", 2.5)]


def test_quota_of_the_default_entity_is_not_that_of_an_empty_name() -> None:
    image = image_of(_quota(("user", None)), _quota(("user", "")))
    assert len(list(image.quotas())) == 2


def test_quota_is_removed_whether_or_not_it_was_set() -> None:
    removal = _quota(("user", "u"), remove=True)
    assert list(image_of(_quota(("user", "u")), removal).quotas()) == []
    assert list(image_of(removal).quotas()) == []


def test_producer_ids_are_replaced_and_never_go_back() -> None:
    assert image_of().producer_ids is None
    image = image_of(_producer_ids(1000), _producer_ids(2000), _producer_ids(2000))
    assert image.producer_ids == ProducerIds(1, 10, 2000)
    with pytest.raises(
        ContradictionError, match="offset 1: ProducerIdsRecord: next producer id 999"
    ):
        image_of(_producer_ids(1000), _producer_ids(999))


def test_migration_state_is_the_last_one_written() -> None:
    assert image_of().zk_migration is None
    states = [ZkMigrationStateRecord(zk_migration_state=state) for state in (1, 0)]
    assert image_of(*states).zk_migration == 0
