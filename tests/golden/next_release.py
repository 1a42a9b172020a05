"""Simulates the next release, in a copy of the packages that has the new record type.

`python -m tests.golden.next_release LOG` appends to a copy of a golden log, deletes a note of the
old release, and reads the whole log.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from records import registry
from records.json import to_json
from replay.image.digest import digest_of_parts, part_digests
from replay.loader import load_image
from tests.golden import WITHOUT_EFFECT_BEFORE


def main(directory: Path) -> dict[str, Any]:
    """Return the results that the test compares."""
    with LogReader.open(directory) as reader:
        before = load_image(reader)
        old_segments = len(reader.segment_paths)
    note = min(before.notes(), key=repr)
    new = registry.BY_NAME["RetractNoteRecord"](
        at_offset=note.at_offset, author=note.author, text=note.text
    )
    asyncio.run(_append(directory, NewBatch(records=(new,))))
    with LogReader.open(directory) as reader:
        after = load_image(reader)
        rows = [row for batch in reader.batches() for row in batch.rows]
        newest = [reader.header(path).has_newest_schema for path in reader.segment_paths]
    known = {
        name: digest
        for name, digest in part_digests(before).items()
        if name not in WITHOUT_EFFECT_BEFORE
    }
    return {
        "registry": registry.__file__,
        "notes_lost": [to_json_note(n) for n in set(before.notes()) - set(after.notes())],
        "last": [type(rows[-1].payload).__name__, to_json(rows[-1].payload)],
        "newest_schema": newest,
        "old_segments": old_segments,
        "digest_before": digest_of_parts(known),
    }


def to_json_note(note: Any) -> dict[str, Any]:
    """Return a note in the JSON form of its records."""
    return {"at_offset": note.at_offset, "author": note.author, "text": note.text}


async def _append(directory: Path, batch: NewBatch) -> None:
    log = await MetadataLog.open(directory)
    await log.append(batch)
    await log.close()


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
