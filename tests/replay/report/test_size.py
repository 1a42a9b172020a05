"""The columns of a report are small, compared with the same changes as Parquet."""

import io
import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from api.cli.main import run
from tests.replay.report.unpacked import Unpacked, packed_of


def parquet_bytes(unpacked: Unpacked) -> int:
    """Return the size of all changes as zstd-compressed Parquet with a row per field."""
    columns, header = unpacked.columns, unpacked.header
    offsets, times = (
        list(accumulate(-(n + 1) // 2 if n % 2 else n // 2 for n in columns[name]))
        for name in ("offset", "time")
    )
    objects = unpacked.objects()
    names: dict[int, str] = {}
    rows: list[dict[str, Any]] = []
    for _, row, change in unpacked.changes():
        kind, label, number = objects[change.object]
        if kind == "topic" and "name" in change.fields:
            names[change.object] = change.fields["name"]
        where = label if isinstance(label, str) else f"{names[label]}/{number}"
        for field, value in (change.fields or {"": None}).items():
            rows.append(
                {
                    "offset": offsets[row],
                    "time": times[row],
                    "type": header["types"][columns["type"][row]],
                    "origin": json.dumps(header["origins"][columns["origin"][row]]),
                    "object": f"{kind}:{where}",
                    "fate": change.fate,
                    "field": field,
                    "after": json.dumps(value),
                }
            )
    file = io.BytesIO()
    table = pyarrow.Table.from_pylist(rows)
    pyarrow.parquet.write_table(table, file, compression="zstd")
    return file.tell()


def test_a_file_is_at_most_half_as_large_again_as_parquet(tmp_path: Path) -> None:
    """The columns also contain the texts of the timeline and of `why`."""
    log, page = tmp_path / "log", tmp_path / "page.html"
    arguments = ["demo", str(log), "--topics", "30", "--brokers", "3", "--changes", "600"]
    assert run(arguments) == 0
    assert run(["report", str(log), str(page)]) == 0
    packed = packed_of(page)
    assert len(packed) * 4 / 3 <= 1.5 * parquet_bytes(Unpacked(packed))
