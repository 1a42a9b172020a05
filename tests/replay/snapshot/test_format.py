"""What a release wrote, every later one reads: format_1.json holds every part as first written."""

import base64
import json
from pathlib import Path

import msgspec
import pytest

from replay.image.digest import image_digest
from replay.image.parts import PARTS
from replay.image.producer_ids import ProducerIds
from replay.image.provenance import Provenance
from replay.snapshot.parts import STORED, Parts
from replay.snapshot.revision import FORMAT

WRITTEN = json.loads((Path(__file__).parent / "format_1.json").read_text())
CHUNKS = {
    part: [base64.b64decode(chunk) for chunk in chunks] for part, chunks in WRITTEN["parts"].items()
}


def _read() -> Parts:
    parts = Parts()
    for part, chunks in CHUNKS.items():
        for chunk in chunks:
            parts.decode(part, chunk)
    return parts


def test_format_1_is_read_with_the_meaning_it_was_written_with() -> None:
    image = _read().image(Provenance(offset=9, leader_epoch=1, timestamp=5))
    assert image_digest(image) == WRITTEN["digest"]


def test_format_1_is_written_as_it_always_was() -> None:
    assert FORMAT == 1
    image = _read().image(Provenance())
    written: dict[str, list[bytes]] = {part: [] for part in CHUNKS}
    for part, _, chunk in Parts.of(image).chunks():
        written[part].append(chunk.plain)
    assert written == CHUNKS


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
