"""The codecs of rows, compared with fastavro: blocks of 100 partition changes, in memory."""

import io
import itertools
from pathlib import Path

import fastavro

from benchmarks.changes import partition_changes
from benchmarks.codecs import each_codec
from benchmarks.harness import Result, rate, time_in_turn
from records.avro import codec, reference, uniform_rows
from records.avro.schema import envelope_schema
from records.envelope import Envelope

_BLOCK_ROWS = 100
_BLOCKS = 200
_ROWS = _BLOCK_ROWS * _BLOCKS


def run(_: Path) -> list[Result]:
    """Measure encoding and decoding, with each of our codecs; all process the same blocks."""
    return [result for name in each_codec() for result in _measured(name)]


def _measured(name: str) -> list[Result]:
    blocks = _blocks()
    encoded = [codec.encode_rows(rows) for rows in blocks]
    array = fastavro.parse_schema({"type": "array", "items": envelope_schema()})

    def encode() -> None:
        for rows in blocks:
            codec.encode_rows(rows)

    def encode_by_reference() -> None:
        for rows in blocks:
            reference.encode_rows(rows)

    def decode() -> None:
        for data in encoded:
            uniform_rows.decode_rows(data, _BLOCK_ROWS)

    def decode_to_dicts() -> None:
        for data in encoded:
            # An array of 100 items: its count, the items, and the empty block that ends it.
            fastavro.schemaless_reader(io.BytesIO(b"\xc8\x01" + data + b"\0"), array, None)

    encoding = time_in_turn(encode, encode_by_reference)
    decoding = time_in_turn(decode, decode_to_dicts)
    return [
        Result(
            name=f"encode rows, codec {name} / fastavro from the same records",
            ours=rate(_ROWS, encoding.ours),
            peer=rate(_ROWS, encoding.peer),
            ratio=encoding.speed,
        ),
        Result(
            name=f"decode rows to records, codec {name} / bare fastavro to dicts",
            ours=rate(_ROWS, decoding.ours),
            peer=rate(_ROWS, decoding.peer),
            ratio=decoding.speed,
        ),
    ]


def _blocks() -> list[list[Envelope]]:
    changes = partition_changes()
    return [
        [
            Envelope(
                offset=base + index,
                leader_epoch=1,
                timestamp=1_763_700_000_000,
                batch_offset=base,
                record_version=0,
                payload=change,
            )
            for index, change in enumerate(itertools.islice(changes, _BLOCK_ROWS))
        ]
        for base in range(0, _ROWS, _BLOCK_ROWS)
    ]
