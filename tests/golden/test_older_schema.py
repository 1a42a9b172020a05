"""A log with an older schema is read with fastavro and continued with the current schema."""

import copy
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from metadata_log.format import segment
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.avro import codec, reference
from records.avro.schema import envelope_schema, envelope_schema_json
from records.base import Record, Uuid
from records.control import NoteRecord
from records.envelope import Origin
from records.partitions import PartitionRecord
from records.topics import TopicRecord
from replay.loader import load_image
from tests.golden.compatibility import violations

TOPIC_ID = Uuid(bytes(range(16)))
OLD_RECORDS: tuple[Record, ...] = (
    TopicRecord(name="orders", topic_id=TOPIC_ID),
    PartitionRecord(
        partition_id=0,
        topic_id=TOPIC_ID,
        replicas=(1, 2),
        isr=(1, 2),
        removing_replicas=(),
        adding_replicas=(),
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
    ),
)


def older_schema() -> dict[str, Any]:
    """Return the current schema without its newest parts: notes, partition modes, namespaces, some
    fields of Origin.
    """
    schema = copy.deepcopy(envelope_schema())
    fields = {field["name"]: field for field in schema["fields"]}
    types = {branch["name"]: branch for branch in fields["payload"]["type"]}
    del fields["payload"]["type"][list(types).index("NamespaceRecord") :]
    for record, name in (("PartitionRecord", "mode"), ("TopicRecord", "namespace_id")):
        types[record]["fields"] = [f for f in types[record]["fields"] if f["name"] != name]
    origin = fields["origin"]["type"][1]
    origin["fields"] = origin["fields"][:5]
    schema["fields"] = [field for field in schema["fields"] if field["name"] != "extra"]
    return schema


@pytest.fixture
async def older_log(tmp_path: Path) -> Path:
    """A log written by a release with the older schema."""
    directory = tmp_path / "log"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment, "envelope_schema_json", lambda: json.dumps(older_schema()))
        patch.setattr(reference, "envelope_schema", older_schema)
        patch.setattr(codec, "encode_rows", reference.encode_rows)
        create_log(directory, "test-cluster")
        log = await MetadataLog.open(directory)
        await log.append(NewBatch(records=OLD_RECORDS, origin=Origin(principal="User:ada")))
        await log.close()
    return directory


def test_older_schema_is_one_that_may_have_become_todays() -> None:
    assert violations(older_schema(), envelope_schema()) == []
    assert len(json.dumps(older_schema())) < len(envelope_schema_json())


async def test_older_segments_carry_their_schema_and_any_reader_reads_them(
    older_log: Path,
) -> None:
    path = older_log / "00000000000000000000.avro"
    with path.open("rb") as file:
        leader_change, topic, partition = fastavro.reader(file)
    assert leader_change["leader_epoch"] == 1
    assert "namespace_id" not in topic["payload"]
    assert "mode" not in partition["payload"]
    assert "extra" not in topic


async def test_older_log_is_read_with_the_defaults_of_new_fields(older_log: Path) -> None:
    with LogReader.open(older_log) as reader:
        rows = [row for batch in reader.batches() for row in batch.rows]
        image = load_image(reader)
    assert tuple(row.payload for row in rows[1:]) == OLD_RECORDS
    assert rows[1].origin == Origin(principal="User:ada")
    assert rows[1].extra is None
    (partition,) = image.partitions(TOPIC_ID)
    assert partition.mode == 0


async def test_older_log_goes_on_in_a_new_segment_of_todays_schema(older_log: Path) -> None:
    before = (older_log / "00000000000000000000.avro").read_bytes()
    note = NoteRecord(at_offset=1, author="ada", text="unknown to the older release")
    log = await MetadataLog.open(older_log)
    await log.append(NewBatch(records=(note,)))
    await log.close()
    assert (older_log / "00000000000000000000.avro").read_bytes() == before
    with LogReader.open(older_log) as reader:
        headers = [reader.header(path) for path in reader.segment_paths]
        rows = [row for batch in reader.batches() for row in batch.rows]
        assert load_image(reader).provenance.next_offset == 5
    assert [header.has_newest_schema for header in headers] == [False, True]
    assert [row.offset for row in rows] == [0, 1, 2, 3, 4]
    assert rows[-1].payload == note
