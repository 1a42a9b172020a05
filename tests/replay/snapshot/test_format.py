"""Snapshots of every release are readable by all later ones.

format_1.json has the first parts as first written, format_1_later.json the parts added later, and
the digest of all parts. Format 5 differs in the topics, whose partitions it has in columns:
format_5.json.
"""

import base64
import json
from pathlib import Path

import msgspec
import pytest

from replay.image.digest import image_digest
from replay.image.parts import PARTS
from replay.image.producer_ids import ProducerIds
from replay.image.provenance import Provenance
from replay.snapshot.parts import STORED, Parts, chunks_of_image
from replay.snapshot.revision import FORMAT, LAYERED_FORMAT

HERE = Path(__file__).parent
FIRST = json.loads((HERE / "format_1.json").read_text())
LATER = json.loads((HERE / "format_1_later.json").read_text())
COLUMNS = json.loads((HERE / "format_5.json").read_text())


def _chunks(written: dict[str, list[str]]) -> dict[str, list[bytes]]:
    return {part: [base64.b64decode(chunk) for chunk in chunks] for part, chunks in written.items()}


CHUNKS = _chunks(FIRST["parts"] | LATER["parts"])


def _read(chunks_of: dict[str, list[bytes]] = CHUNKS) -> Parts:
    parts = Parts()
    for part, chunks in chunks_of.items():
        for chunk in chunks:
            parts.decode(part, chunk)
    return parts


def test_format_1_is_read_with_the_meaning_it_was_written_with() -> None:
    provenance = Provenance(offset=9, leader_epoch=1, timestamp=5)
    first = _read(_chunks(FIRST["parts"])).image(provenance)
    assert image_digest(first) == FIRST["digest"]
    assert image_digest(_read().image(provenance)) == LATER["digest"]


def test_format_5_is_read_with_the_meaning_it_was_written_with() -> None:
    image = _read(CHUNKS | _chunks(COLUMNS["parts"])).image(Provenance())
    assert image_digest(image) == COLUMNS["digest"] == LATER["digest"]
    assert image == _read().image(Provenance())


def test_format_5_is_written_as_it_always_was() -> None:
    assert (FORMAT, LAYERED_FORMAT) == (5, 6)
    image = _read().image(Provenance())
    written: dict[str, list[bytes]] = {part: [] for part in CHUNKS}
    for part, _, chunk in chunks_of_image(image):
        written[part].append(chunk.plain)
    assert written == CHUNKS | _chunks(COLUMNS["parts"])


def test_every_part_is_stored_and_has_an_example() -> None:
    # Partitions are stored with their topic.
    assert set(PARTS) - {"partitions"} == set(STORED) == set(CHUNKS)
    assert all(CHUNKS.values())


def test_field_that_a_later_release_adds_is_read_as_its_default() -> None:
    class Later(ProducerIds, frozen=True, gc=False):
        added: str = "default"

    (chunk,) = CHUNKS["producer_ids"]
    (before,) = _read().objects["producer_ids"]
    (later,) = msgspec.msgpack.decode(chunk, type=list[Later])
    assert msgspec.structs.asdict(later) == {**msgspec.structs.asdict(before), "added": "default"}


def test_values_of_another_part_are_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        Parts().decode("brokers", CHUNKS["topics"][0])
    with pytest.raises(KeyError):
        Parts().decode("no such part", CHUNKS["topics"][0])
