"""Ids in the payload of the view `log` are text, at every depth of every record type."""

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from records import registry
from records.avro.schema import UUID_NAME
from records.text import uuid_text
from replay.audit.audit import Audit
from replay.audit.queries.asking import Range
from tests.histories import random_history
from tests.replay.audit.log_on_disk import write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_records_of_every_type_have_their_ids_as_text(
    spark: "SparkSession", tmp_path: Path
) -> None:
    batches = random_history(random.Random(3), 600)
    files = write_log(tmp_path, batches)
    with Audit(spark, files) as audit:
        rows = audit.view("log", Range(0, files.end_offset - 1), show_secrets=True)
        found = {row["offset"]: row["payload"].asDict(recursive=True) for row in rows.collect()}
    seen = set()
    for row in (row for batch in batches for row in batch.rows):
        name = type(row.payload).__name__
        (told,) = [each for each in found[row.offset].items() if each[1] is not None]
        assert told == (f"member_{name}", plain(row.payload))
        seen.add(name)
    with_ids = {name for name in registry.BY_NAME if UUID_NAME in json.dumps(registry.schema(name))}
    assert with_ids <= seen


def plain(value: Any) -> Any:
    """Return a record as Spark collects it, with ids as text."""
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return uuid_text(value) if isinstance(value, bytes) and len(value) == 16 else value
