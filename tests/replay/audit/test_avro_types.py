"""A narrow schema reads the same records; all types that it omits become one member of the
union.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from metadata_log.reader.log_reader import LogReader
from records.avro.schema import projected_schema
from replay.audit.avro_types import OTHER, UNION_MEMBER_PREFIX, narrow
from replay.audit.python_source import SegmentSource

pytestmark = pytest.mark.spark


def test_records_that_are_left_out_are_read_as_one_member(demo_log: Path) -> None:
    read = {"PartitionRecord", "TopicRecord"}
    schema = narrow(projected_schema({"offset"}, read))
    with LogReader.open(demo_log) as reader:
        names = [type(row.payload).__name__ for batch in reader.batches() for row in batch.rows]
        sizes = [[str(path), path.stat().st_size] for path in reader.segment_paths]
    source = SegmentSource({"files": json.dumps(sizes), "avroSchema": json.dumps(schema)})
    tasks = source.reader(source.schema())
    payloads = [
        payload
        for task in tasks.partitions()
        for batch in tasks.read(task)
        for payload in batch["payload"].to_pylist()
    ]
    found = Counter(
        member for payload in payloads for member, value in payload.items() if value is not None
    )
    expected = Counter(UNION_MEMBER_PREFIX + (name if name in read else OTHER) for name in names)
    assert found == expected
    assert len(expected) == len(read) + 1
