"""`help` of a record class explains every field, in the words of the schema."""

import inspect

import pytest

from records.base import Record
from records.registry import RECORD_TYPES
from tests.record_docs import docstring, documented

CLASSES = list(documented())


@pytest.mark.parametrize(("record", "fields"), CLASSES, ids=[each.__name__ for each, _ in CLASSES])
def test_docstring_has_the_fields_of_the_schema(
    record: type[Record], fields: dict[str, str]
) -> None:
    assert inspect.getdoc(record) == docstring(record, fields)
    for name in record.__struct_fields__:
        assert f"\n    {name}: " in (inspect.getdoc(record) or ""), name


def test_every_record_with_fields_is_documented() -> None:
    known = {record for record, _ in CLASSES}
    assert {each for each in RECORD_TYPES if each.__struct_fields__} <= known
