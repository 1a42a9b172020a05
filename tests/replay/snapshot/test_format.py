"""What a release wrote, every later one reads: format_1.json holds every part as first written."""

import base64
import json
from pathlib import Path

import msgspec
import pytest

from replay.image.digest import PART_ROWS, image_digest
from replay.image.producer_ids import ProducerIds
from replay.image.provenance import Provenance
from replay.snapshot.chunks import chunks_of
from replay.snapshot.parts import FORMAT, KEYS, Parts

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
    for part, values in msgspec.structs.asdict(Parts.of(image)).items():
        assert [chunk.plain for chunk in chunks_of(values, KEYS[part])] == CHUNKS[part]


def test_every_part_has_a_key_and_an_example() -> None:
    assert set(KEYS) == set(Parts.__struct_fields__) == set(CHUNKS)
    assert all(CHUNKS.values())


def test_every_part_of_the_digest_is_stored() -> None:
    # Partitions are stored with their topic.
    assert set(PART_ROWS) - {"partitions"} == set(KEYS)


def test_field_that_a_later_release_adds_is_read_as_its_default() -> None:
    class Later(ProducerIds, frozen=True, gc=False):
        added: str = "default"

    (chunk,) = CHUNKS["producer_ids"]
    (before,) = _read().producer_ids
    (later,) = msgspec.msgpack.decode(chunk, type=list[Later])
    assert msgspec.structs.asdict(later) == {**msgspec.structs.asdict(before), "added": "default"}


def test_values_of_another_part_are_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        Parts().decode("brokers", CHUNKS["topics"][0])
    with pytest.raises(KeyError):
        Parts().decode("no such part", CHUNKS["topics"][0])
