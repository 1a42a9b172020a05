"""`import kraft --tables`: records of Kafka forks, decoded with message definitions of the fork."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from metadata_log.files.names import KRAFT_TABLES
from records.base import Uuid
from records.brokers import RegisterBrokerRecord
from records.control import UnknownRecord
from records.envelope import UnknownTag
from records.kafka.tables import NamedTag, Tables, parse_table
from records.topics import TopicRecord
from tests.api.conftest import Metalog
from tests.metadata_log.kraft.logs import LogFiles, batch, leader_change, topic

TABLE = """// Licensed to somebody
{
  "apiKey": 501, // above Kafka's own
  "type": "metadata",
  "name": "VirtualClusterRecord",
  "validVersions": "0-1",
  "flexibleVersions": "0+",
  "fields": [
    { "name": "ClusterId", "type": "uuid", "versions": "0+", "about": "Its id, see http://x." },
    { "name": "Name", "type": "string", "versions": "0+", "nullableVersions": "0+" },
    { "name": "Nodes", "type": "[]Node", "versions": "0+", "fields": [
      { "name": "NodeId", "type": "int32", "versions": "0+", "entityType": "brokerId" },
      { "name": "Token", "type": "bytes", "versions": "1+" }
    ]},
    { "name": "Weight", "type": "int64", "versions": "0+", "taggedVersions": "0+", "tag": 3 }
  ]
}
"""
OTHER = """{ "type": "data", "name": "NoRecord", "validVersions": "0", "fields": [] }"""

# frame version 1, key 501, version; id, name, one node, tags: weight
V0 = bytes([1, 0xF5, 0x03, 0]) + bytes(range(16)) + b"\x04one" + b"\x02" + b"\0\0\0\x07" + b"\0"
V0 += b"\x01\x03\x08" + (9).to_bytes(8)
V1 = bytes([1, 0xF5, 0x03, 1]) + bytes(16) + b"\0" + b"\x02" + b"\0\0\0\x08" + b"\x03ab\0" + b"\0"
V2 = bytes([1, 0xF5, 0x03, 2]) + b"whatever"
SHORT = bytes([1, 0xF5, 0x03, 0]) + b"short"


TOPIC_TABLE = """{
  "apiKey": 2, "type": "metadata", "name": "TopicRecord", "validVersions": "0",
  "flexibleVersions": "0+",
  "fields": [
    { "name": "Name", "type": "string", "versions": "0+" },
    { "name": "TopicId", "type": "uuid", "versions": "0+" },
    { "name": "VirtualClusters", "type": "[]string", "versions": "0+", "taggedVersions": "0+",
      "tag": 10000 }
  ]
}
"""
# frame version 1, key 2, version 0; name, id; tags: 10000 with a list of two, 10001 with a byte
TAGGED_TOPIC = bytes([1, 2, 0]) + b"\x07tagged" + bytes(range(16)) + b"\x02"
TAGGED_TOPIC += b"\x90\x4e\x05\x03\x02a\x02b" + b"\x91\x4e\x01\x09"


def unknown(value: bytes) -> UnknownRecord:
    return UnknownRecord(api_key=501, record_version=value[3], value=value)


@pytest.fixture
def files(tmp_path: Path) -> LogFiles:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "VirtualClusterRecord.json").write_text(TABLE)
    (tmp_path / "tables" / "NoRecord.json").write_text(OTHER)
    files = LogFiles(tmp_path / "node")
    fork = [unknown(value) for value in (V0, V1, V2, SHORT)]
    files.segment(0, batch(0, 1, leader_change()), batch(1, 1, topic(), *fork))
    return files


def test_records_of_a_fork_are_named_counted_and_dumped(
    metalog: Metalog, files: LogFiles, tmp_path: Path
) -> None:
    source, tables, log = files.directory, tmp_path / "tables", tmp_path / "log"
    done = metalog("import", "kraft", source, log, "--tables", tables, "--noop", "keep")
    assert done.code == 0, done.err
    assert "2 VirtualClusterRecord (type 501), known by its table, not replayed" in done.out
    rows = [json.loads(line) for line in metalog("dump", log, "--json").out.splitlines()]
    assert [row.get("by_table") for row in rows[:2]] == [None, None]
    assert rows[2]["type"] == "UnknownRecord"
    assert rows[2]["by_table"] == {
        "type": "VirtualClusterRecord",
        "fields": {
            "cluster_id": str(Uuid(bytes(range(16)))),
            "name": "one",
            "nodes": [{"node_id": 7}],
            "weight": 9,
        },
    }
    assert rows[3]["by_table"]["fields"]["nodes"] == [{"node_id": 8, "token": "YWI="}]
    assert "by_table" not in rows[4]  # a version that the table lacks
    assert "the table does not fit: byte 4" in rows[5]["by_table"]["error"]
    text = metalog("dump", log).out.splitlines()
    assert "= VirtualClusterRecord cluster_id=" in text[2]
    assert "weight=9, not replayed" in text[2]
    info = metalog("info", log).out
    assert "not replayed" in info
    assert "2 records: VirtualClusterRecord (type 501) version 0, since offset 2" in info
    assert "1 record: type 501 version 2, since offset 4" in info
    # Nothing was lost: the segments are the source's.
    out = tmp_path / "out"
    assert metalog("export", "kraft", log, out, "--as", "segments").code == 0
    name = f"{0:020d}.log"
    (exported,) = out.rglob(name)
    (original,) = source.rglob(name)
    assert exported.read_bytes() == original.read_bytes()


def test_tagged_fields_of_a_fork_in_known_records_are_named(
    metalog: Metalog, files: LogFiles, tmp_path: Path
) -> None:
    tagged = UnknownRecord(api_key=2, record_version=0, value=TAGGED_TOPIC)
    files.segment(6, batch(6, 1, tagged))
    tables, log = tmp_path / "tables", tmp_path / "log"
    (tables / "TopicRecord.json").write_text(TOPIC_TABLE)
    done = metalog("import", "kraft", files.directory, log, "--tables", tables, "--noop", "keep")
    assert "1 TopicRecord version 0, tag 10000, known by its table, not replayed" in done.out
    row = metalog("dump", log, "--from", "6", "--json").lines[0]
    assert (row["type"], row["data"]["name"]) == ("TopicRecord", "tagged")
    assert row["by_table"] == {"type": "TopicRecord", "fields": {"virtual_clusters": ["a", "b"]}}
    assert "= TopicRecord virtual_clusters=[a,b], not replayed" in metalog("dump", log).out
    info = metalog("info", log, "--json").json["unknown"]
    assert {each["tag"]: each.get("has_table") for each in info if each["tag"]} == {
        10000: True,
        10001: None,
    }
    (tables / "TopicRecord.json").write_text(TOPIC_TABLE.replace('"[]string"', '"int64"'))
    metalog("import", "kraft", files.directory, log, "--tables", tables, "--noop", "keep")
    wrong = metalog("dump", log, "--from", "6", "--json").lines[0]["by_table"]
    assert "the table does not fit: byte" in wrong["error"]


def test_tagged_fields_are_found_inside_structures() -> None:
    table = parse_table("""{
      "apiKey": 0, "type": "metadata", "name": "RegisterBrokerRecord", "validVersions": "0-1",
      "flexibleVersions": "0+",
      "fields": [ { "name": "EndPoints", "type": "[]EndPoint", "versions": "0+", "fields": [
        { "name": "Name", "type": "string", "versions": "0+" },
        { "name": "Zone", "type": "int8", "versions": "1+", "taggedVersions": "1+", "tag": 5 }
      ]}]
    }""")
    assert table is not None
    tables = Tables([table])
    unknown = UnknownTag(path="end_points/3", tag=5, value=b"\x07")
    found = tables.tag(RegisterBrokerRecord, 1, unknown)
    assert found == NamedTag(path="end_points/3/zone", value=7)
    assert tables.tag(RegisterBrokerRecord, 0, unknown) is None
    assert tables.tag(RegisterBrokerRecord, 1, replace(unknown, path="end_points/3/name")) is None
    assert tables.tag(RegisterBrokerRecord, 1, replace(unknown, path="features/0")) is None
    assert tables.tag(TopicRecord, 1, unknown) is None


def test_tables_go_with_a_backup_and_stay_when_the_mirror_grows(
    metalog: Metalog, files: LogFiles, tmp_path: Path
) -> None:
    log, copy = tmp_path / "log", tmp_path / "copy"
    assert metalog("import", "kraft", files.directory, log).code == 0
    assert "by_table" not in metalog("dump", log, "--json").out
    tables = tmp_path / "tables"
    assert metalog("import", "kraft", files.directory, log, "--tables", tables).code == 0
    assert metalog("import", "kraft", files.directory, log).code == 0
    assert "by_table" in metalog("dump", log, "--json").out
    assert metalog("verify", log).code == 0
    assert metalog("backup", log, copy).code == 0
    assert metalog("dump", copy, "--json").out == metalog("dump", log, "--json").out
    for command in ("restore", "repair"):
        again = tmp_path / command
        assert metalog(command, copy, again).code == 0
        assert metalog("dump", again, "--json").out == metalog("dump", log, "--json").out


def test_tables_go_with_an_archive(metalog: Metalog, files: LogFiles, tmp_path: Path) -> None:
    """The archive stores the tables too; it takes sealed segments, so the source has two."""
    files.segment(6, batch(6, 1, unknown(V0)))
    log, archive = tmp_path / "log", tmp_path / "archive"
    tables = tmp_path / "tables"
    command = ("import", "kraft", files.directory, log, "--tables", tables, "--noop", "keep")
    assert metalog(*command).code == 0
    assert metalog("archive", log, archive).code == 0
    assert (archive / KRAFT_TABLES).read_bytes() == (log / KRAFT_TABLES).read_bytes()
    lines = metalog("dump", archive, "--json").lines
    assert lines == metalog("dump", log, "--json", "--to", "5").lines
    assert lines[2]["by_table"]["type"] == "VirtualClusterRecord"
    # A later import with other tables is taken over by the next run.
    (tables / "VirtualClusterRecord.json").write_text(TABLE.replace('"Name"', '"Label"'))
    assert metalog(*command).code == 0
    assert metalog("archive", log, archive).code == 0
    assert metalog("dump", archive, "--json").lines[2]["by_table"]["fields"]["label"] == "one"


def test_a_damaged_file_of_tables_is_told_and_costs_nothing_else(
    metalog: Metalog, files: LogFiles, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    metalog("import", "kraft", files.directory, log, "--tables", tmp_path / "tables")
    (log / KRAFT_TABLES).write_text("{")
    refused = metalog("dump", log)
    assert refused.code == 5
    assert f"{KRAFT_TABLES} byte 0" in refused.err
    assert "import again with --tables DIR, or remove the file" in refused.err
    mended = metalog("repair", log, tmp_path / "mended")
    assert (mended.code, f"{KRAFT_TABLES}: damaged, left out" in mended.out) == (0, True)
    assert "by_table" not in metalog("dump", tmp_path / "mended", "--json").out
    (log / KRAFT_TABLES).unlink()
    assert metalog("dump", log).code == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (TABLE.replace('"type": "metadata",', '"type": "metadata"'), "line 5, column 3"),
        (
            TABLE.replace('"[]Node"', '"[]Other"').replace('"fields": [\n      {', '"x": [{'),
            "Nodes",
        ),
        (TABLE.replace("501", "-1"), "apiKey -1"),
        (TABLE.replace('"0-1"', '"none"'), "validVersions 'none'"),
        (
            TABLE.replace('"tag": 3', '"about": ""'),
            "VirtualClusterRecord.Weight: the field is tagged",
        ),
        (OTHER, "no *.json file with a record type"),
    ],
)
def test_a_bad_table_is_refused_with_file_and_place_before_anything_is_written(
    metalog: Metalog, files: LogFiles, tmp_path: Path, text: str, why: str
) -> None:
    log, path = tmp_path / "log", tmp_path / "tables" / "VirtualClusterRecord.json"
    path.write_text(text)
    refused = metalog("import", "kraft", files.directory, log, "--tables", path.parent)
    assert refused.code == 3, refused.err
    assert why in refused.err
    assert text == OTHER or path.name in refused.err
    assert not log.exists()
