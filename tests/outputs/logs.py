"""The bytes of logs, and the digests of their images."""

import subprocess
import tempfile
from pathlib import Path

from metadata_log.reader.log_reader import LogReader
from replay.image.digest import image_digest
from replay.loader import load_image
from tests.forked_commands import METALOG
from tests.golden.test_golden_logs import LOGS

_STEP = 50
"""Offsets from one digest to the next."""


def logs(directory: Path) -> None:
    """Write the demo's log, its digests, and those of the golden logs into files of a directory."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        subprocess.run([*METALOG, "demo", str(log)], check=True, capture_output=True)
        write_log(log, directory / "log_of_demo.txt")
        lines = _digests(log)
    for log in LOGS:
        lines += [f"{log.parent.name} {log.name}", *_digests(log)]
    (directory / "digests.txt").write_text("\n".join(lines))


def write_log(log: Path, target: Path) -> None:
    """Write the bytes of a log's segments into a file, as hexadecimal lines."""
    lines = []
    for segment in sorted(log.glob("*.avro")):
        lines.append(segment.name)
        content = segment.read_bytes()
        lines += [content[at : at + 64].hex() for at in range(0, len(content), 64)]
    assert len(lines) > 1, f"{log} has no segments"
    target.write_text("\n".join(lines))


def _digests(log: Path) -> list[str]:
    with LogReader.open(log) as reader:
        last = reader.end_offset - 1
        offsets = [*range(reader.start_offset, last, _STEP), last]
        return [f"{offset} {image_digest(load_image(reader, offset))}" for offset in offsets]
