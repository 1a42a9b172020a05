"""Layouts of the record types, version by version."""

from records import registry
from records.brokers import BrokerRegistrationChangeRecord, RegisterBrokerRecord
from records.control import LeaderChangeMessage, LeaderChangeVoter
from records.kafka.layout import ArrayOf, Layout, control_types, has_version, layout, metadata_types
from records.partitions import PartitionRecord
from records.topics import NamespaceRecord
from tests.records.kafka.strategies import all_layouts


def test_every_type_of_kafkas_has_a_key_of_its_own() -> None:
    kafkas = [cls for cls in registry.RECORD_TYPES if "kafka" in registry.schema(cls.__name__)]
    assert len(metadata_types()) + len(control_types()) == len(kafkas)
    assert set(control_types().values()) == registry.CONTROL_TYPES


def test_own_types_have_no_version() -> None:
    assert not has_version(NamespaceRecord, 0)


def test_field_exists_from_its_version_on() -> None:
    assert "directories" in _absent(layout(PartitionRecord, 0))
    assert "directories" not in _absent(layout(PartitionRecord, 1))


def test_field_of_our_own_exists_in_no_version() -> None:
    assert all("mode" in _absent(layout(PartitionRecord, version)) for version in range(3))


def test_nested_structure_that_is_defined_once_has_one_layout() -> None:
    fields = {field.name: field.type for field in layout(LeaderChangeMessage, 1).fields}
    assert fields["voters"] == fields["granting_voters"]
    assert isinstance(fields["voters"], ArrayOf)
    assert isinstance(fields["voters"].item, Layout)
    assert fields["voters"].item.cls is LeaderChangeVoter


def test_cordoned_directories_have_the_tags_that_kafka_4_3_gave_them() -> None:
    for cls, version, tag in ((RegisterBrokerRecord, 4, 1), (BrokerRegistrationChangeRecord, 3, 3)):
        newest, before = layout(cls, version), layout(cls, version - 1)
        *others, cordoned = newest.tagged
        assert [f.name for f in others] == [f.name for f in before.tagged]
        assert (cordoned.name, cordoned.tag, cordoned.nullable) == ("cordoned_log_dirs", tag, True)


def test_tagged_fields_are_in_the_order_of_their_tags() -> None:
    for each in all_layouts():
        tags = [field.tag for field in each.tagged if field.tag is not None]
        assert tags == sorted(set(tags))


def _absent(of: Layout) -> set[str]:
    return {field.name for field in of.absent}
