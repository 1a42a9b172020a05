"""The documents are true: their examples are generated, and their commands are run."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import google_crc32c
import msgspec
import pytest
from _pytest.mark import ParameterSet

from api.cli.app import complete_app, verbs
from api.cli.main import load_commands
from metadata_log.format.block import BlockEncoder
from metadata_log.format.block_filter import BlockRun
from metadata_log.format.commit_mark import CommitMark
from metadata_log.format.manifest import Kind, Manifest
from metadata_log.format.offset_index import IndexEntry
from metadata_log.format.record_tokens import tokens_of, types_of
from metadata_log.format.segment import SegmentHeader, decode_header
from metadata_log.limits import BATCH_SIZE_BYTES_MAX
from records.avro import codec
from records.envelope import Envelope, Origin
from records.registry import RECORD_TYPES
from records.text import parse_uuid
from records.topics import TopicRecord
from tests.docs_console import DOCUMENTS, ROOT, asks_spark, blocks, commands, run_block

LOG_FORMAT = (ROOT / "docs" / "log_format.md").read_text()
CLUSTER_ID = "AAECAwQFBgcICQoLDA0ODw"
ROW = Envelope(
    offset=4096,
    leader_epoch=7,
    timestamp=1_767_225_600_000,
    batch_offset=4096,
    record_version=0,
    origin=Origin(principal="User:ada", command="topics create"),
    durable_end=4096,
    previous_crc32c=0x1F3A90C2,
    payload=TopicRecord(name="orders", topic_id=parse_uuid(CLUSTER_ID)),
)
HEADER = SegmentHeader(cluster_id=CLUSTER_ID, base_offset=4096, leader_epoch=7)


def example(name: str) -> str:
    """Return the only example of that name in the log format document, without white space."""
    (found,) = re.findall(rf"^```{name}\n(.*?)^```$", LOG_FORMAT, re.MULTILINE | re.DOTALL)
    return "".join(str(found).split())


def block() -> bytes:
    return BlockEncoder(BATCH_SIZE_BYTES_MAX).encode([ROW], HEADER.sync_marker)


def test_example_of_the_manifest_is_one() -> None:
    manifest = msgspec.json.decode(example("json"), type=Manifest)
    assert manifest == Manifest(cluster_id=CLUSTER_ID, kind=Kind.OWN)


def test_example_of_the_sync_marker_is_what_a_segment_has() -> None:
    assert HEADER.sync_marker.hex() == example("sync-marker")


def test_header_has_the_keys_of_the_table_in_order() -> None:
    data = HEADER.encode()
    header, end = decode_header(data)
    assert (header.base_offset, end) == (4096, len(data))
    always, _ = LOG_FORMAT.split("in mirrors only:")
    documented = re.findall(r"^\| ((?:avro|metalog)\.\w+) \|", always, re.MULTILINE)
    places = [data.index(key.encode()) for key in documented]
    assert places == sorted(places)
    assert len(documented) == 9


def test_example_of_a_row_is_what_the_codec_writes() -> None:
    assert codec.encode_rows([ROW]).hex() == example("row")


def test_example_of_a_block_is_what_is_stored() -> None:
    assert block().hex() == example("block")
    assert f"0x{google_crc32c.value(block()):08x}" in LOG_FORMAT


def test_example_of_the_commit_mark_is_what_is_written() -> None:
    mark = CommitMark(
        sequence=41,
        leader_epoch=7,
        end_offset=4097,
        segment_offset=4096,
        position=12_800,
        confirmed_end=4097,
        last_crc32c=google_crc32c.value(block()),
        max_timestamp=1_767_225_600_000,
    )
    assert mark.encode().hex() == example("mark")


def test_example_of_an_index_entry_is_what_is_written() -> None:
    assert IndexEntry(4096, 12_648, 1_767_225_599_000).encode().hex() == example("index")


def test_example_of_a_filter_entry_is_what_is_written() -> None:
    crc32c = google_crc32c.value(block())
    run = BlockRun(
        position=12_688,
        end_position=12_688 + len(block()),
        base_offset=4096,
        end_offset=4097,
        last_position=12_688,
        last_base_offset=4096,
        previous_crc32c=0x1F3A90C2,
        last_crc32c=crc32c,
        content_crc32c=crc32c,
        types=types_of([ROW.payload]),
        tokens=tokens_of([ROW.payload]),
    )
    assert run.encode().hex() == example("filter-entry")


def test_status_has_every_row_of_the_specification_once() -> None:
    counts = dict(zip("LRPQSXKTBNMAHD", (10, 3, 6, 5, 8, 15, 13, 9, 5, 8, 6, 3, 6, 4), strict=True))
    expected = {f"{group}{n}" for group, count in counts.items() for n in range(1, count + 1)}
    rows = re.findall(
        r"^\| ([A-Z]\d+) .*? \| (?:done|part|open) \|", (ROOT / "docs/status.md").read_text(), re.M
    )
    assert len(expected) == 101
    assert sorted(rows) == sorted(expected)


def test_proofs_that_the_status_names_are_there() -> None:
    named = set(re.findall(r"`((?:tests/|test_)[\w/.*]+)`", (ROOT / "docs/status.md").read_text()))
    sources = "".join(path.read_text() for path in ROOT.glob("tests/**/*.py"))
    missing = [
        name
        for name in sorted(named)
        if not (any(ROOT.glob(name)) if "/" in name else f"def {name}(" in sources)
    ]
    assert not missing
    assert len(named) > 50


def console_blocks() -> Iterator[tuple[str, str]]:
    for name in DOCUMENTS:
        for content in blocks((ROOT / name).read_text()):
            yield name, content


def pages() -> list[ParameterSet]:
    """Return each document; those with Spark commands share a session with other tests."""
    found = []
    for name in DOCUMENTS:
        text = (ROOT / name).read_text()
        in_spark = any(map(asks_spark, blocks(text)))
        found.append(pytest.param(name, marks=[pytest.mark.spark] if in_spark else []))
    return found


# A page runs a hundred commands, some of them in Spark: minutes on a busy machine.
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("name", pages())
def test_commands_print_what_the_document_says(name: str, tmp_path: Path) -> None:
    for content in blocks((ROOT / name).read_text()):
        assert run_block(content, tmp_path) == content


def test_every_command_is_documented_with_an_example() -> None:
    load_commands()
    text = (ROOT / "docs" / "commands.md").read_text()
    run = {line for _, content in console_blocks() for line in commands(content)}
    for command in command_names():
        assert f"\n### {command}\n" in text, command
        assert any(line.startswith(f"metalog {command}") for line in run), command


def command_names() -> Iterator[str]:
    """Every command, such as `topics create`."""
    load_commands()
    app = complete_app()
    for command in app.registered_commands:
        assert command.callback is not None
        yield command.name or command.callback.__name__.rstrip("_")
    for group in app.registered_groups:
        assert group.typer_instance is not None
        noun = str(group.typer_instance.info.name)
        for command in verbs(noun).registered_commands:
            assert command.callback is not None
            yield f"{noun} {command.name or command.callback.__name__.rstrip('_')}"


def test_every_record_type_has_its_effect_documented() -> None:
    text = (ROOT / "docs" / "replay.md").read_text()
    for cls in RECORD_TYPES:
        assert cls.__name__ in text, cls.__name__


def test_the_architecture_page_names_every_folder() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)/` \| (.*) \|$", page, re.MULTILINE))
    for package in ("records", "metadata_log", "replay", "controller", "api"):
        sources = [*(ROOT / package).glob("*/*.py"), *(ROOT / package).glob("*/*.avsc")]
        for folder in {path.parent.name for path in sources}:
            assert f"`{folder}/`" in rows[package], f"{package}/{folder}"


def test_the_walk_of_an_append_names_what_there_is() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    walk = page.partition("## An append, from the socket to the disk")[2].partition("\n## ")[0]
    steps = re.findall(r"`([\w/]+\.py)`\s+`(\w+)(?:\.(\w+))?`", walk)
    assert len(steps) > 10
    for file, name, inner in steps:
        tree = ast.parse((ROOT / file).read_text())
        found = {getattr(node, "name", ""): node for node in ast.walk(tree)}
        assert name in found, (file, name)
        members = {getattr(node, "name", "") for node in ast.walk(found[name])}
        assert not inner or inner in members, (file, name, inner)


def test_the_architecture_page_names_tests_that_there_are() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| I\d+ \| .* \| (.*) \|$", page, re.MULTILINE)
    defined = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^\s*(?:async )?def (test_\w+)\(", path.read_text(), re.MULTILINE)
    }
    assert rows
    for guards in rows:
        names = re.findall(r"`([^`]+)`", guards)
        assert names, guards
        for name in names:
            assert (ROOT / name).exists() if "/" in name else name in defined, name


_FOLDERS = (
    "api|benchmarks|compiled|controller|docs|metadata_log|migrations|records|replay|scripts|tests"
)


def test_documents_name_no_file_that_is_not_there() -> None:
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for name in re.findall(r"\]\(((?!http|#)[^)#]+)\)", path.read_text()):
            assert (path.parent / name).exists(), f"{path.name} names {name}"
        for name in re.findall(
            rf"`((?:{_FOLDERS})/[\w./]+\.\w+)`(?!, a new file)", path.read_text()
        ):
            if path.name.startswith("adding_") and not name.startswith(("tests/", "docs/")):
                continue  # its steps make the file
            assert (ROOT / name).exists(), f"{path.name} names {name}"
