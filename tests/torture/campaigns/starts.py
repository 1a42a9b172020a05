"""Real commands on a log whose writer was cut off, and whose commit mark was then damaged.

The writer stops at a call that fails, with half of the bytes written, or dies; then bytes of a slot
of `commit.mark` are replaced. While one slot is valid, each command has to start: one that only
reads shows what is proven, and after one that writes every acknowledged record is there. Without a
valid slot each command has to name the file, and how to go on.
"""

import asyncio
import contextlib
import json
import random
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from metadata_log.files.names import COMMIT_MARK
from metadata_log.format.batch import NewBatch
from metadata_log.format.commit_mark import SLOT_SIZE, SLOT_SPACING, decode_slot
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Uuid
from records.errors import MetadataLogError
from records.topics import TopicRecord
from tests.failing_fs import FailingFs
from tests.forked_commands import METALOG, forking
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place

NAME = "starts"
TEST = "real commands on a log with a torn or damaged commit mark"
TARGET = 400
SEEDS_MIN = 4
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = (*LOG_SOURCES, "replay", "controller", "api")

_CASES_A_PIECE = 20
_CUT_OFF_SECONDS = 60


class _Broken(Exception):
    """A command did not do what it has to do."""


class Left(msgspec.Struct, frozen=True):
    """What a writer left behind.

    Attributes:
        acknowledged: The names of the topics whose appends were answered.
    """

    directory: Path
    acknowledged: frozenset[str]

    @property
    def mark(self) -> Path:
        return self.directory / COMMIT_MARK

    def topics(self) -> frozenset[str]:
        """The names of all topics that a reader shows."""
        with LogReader.open(self.directory) as reader:
            records = (row.payload for batch in reader.batches() for row in batch.rows)
            return frozenset(r.name for r in records if isinstance(r, TopicRecord))

    def has_valid_slot(self) -> bool:
        data = self.mark.read_bytes()
        slots = (data[at : at + SLOT_SIZE] for at in (0, SLOT_SPACING))
        return any(decode_slot(slot) is not None for slot in slots)


def run(seed: int) -> Outcome:
    """Cut some writers off, and start a command after each."""
    return _run(seed, range(_CASES_A_PIECE))


def run_some(seed: int, cases: int) -> Outcome:
    """Run the first cases of a piece."""
    return _run(seed, range(cases))


def reproduce(place: Place) -> Outcome:
    """Run one case again, or a whole piece."""
    return run(place.seed) if place.point is None else _run(place.seed, (place.point,))


def shrink(failure: Failure) -> Failure:
    """Return the failure unchanged: one case cannot be shrunk."""
    return failure


def _run(seed: int, points: Sequence[int]) -> Outcome:
    failures: list[Failure] = []
    with forking(), contextlib.ExitStack() as folders:
        for point in points:
            folder = folders.enter_context(tempfile.TemporaryDirectory(prefix="metalog-starts-"))
            message = _broken(random.Random(f"{seed} {point}"), Path(folder), point)
            if message is not None:
                place = Place(seed=seed, point=point)
                failures.append(Failure(campaign=NAME, place=place, message=message))
    return Outcome(done=len(points), distinct=len(points), failures=tuple(failures))


def _broken(rng: random.Random, folder: Path, point: int) -> str | None:
    left = asyncio.run(cut_off(rng, folder / "log"))
    what = _damage(rng, left.mark)
    # In turn, so that a piece has all of them.
    name, command = list(COMMANDS.items())[point % len(COMMANDS)]
    try:
        command(left)
    except (_Broken, MetadataLogError, subprocess.TimeoutExpired) as error:
        return f"{name} after {what}: {type(error).__name__}: {error}"
    return None


async def cut_off(rng: random.Random, directory: Path) -> Left:
    """Write a log with a writer that stops at a random call, or dies after its last answer."""
    create_log(directory, "AAECAwQFBgcICQoLDA0ODw")
    fs = FailingFs()
    log = await MetadataLog.open(directory, fs=fs)
    if rng.random() < 0.5:
        fs.calls.fail_at = fs.calls.made + rng.randrange(60)
    acknowledged = set()
    for number in range(rng.randrange(1, 12)):
        record = TopicRecord(name=f"t{number}", topic_id=Uuid(rng.randbytes(16)))
        try:
            await log.append(NewBatch(records=(record,)))
        except MetadataLogError:
            break
        acknowledged.add(record.name)
    # A process that dies writes nothing more.
    fs.calls.fail_at = 0
    with contextlib.suppress(OSError):
        await log.close()
    return Left(directory, frozenset(acknowledged))


def _damage(rng: random.Random, mark: Path) -> str:
    data = bytearray(mark.read_bytes())
    slots = {at: decode_slot(bytes(data[at : at + SLOT_SIZE])) for at in (0, SLOT_SPACING)}
    valid = sorted((slot.sequence, at) for at, slot in slots.items() if slot is not None)
    if rng.random() < 0.1 or not valid:
        return "nothing more"
    # The newest slot most of the time: it alone says what was acknowledged last.
    _, at = valid[-1] if rng.random() < 0.8 else valid[0]
    start = at + rng.randrange(SLOT_SIZE)
    end = rng.randrange(start + 1, at + SLOT_SIZE + 1)
    data[start:end] = bytes(end - start) if rng.random() < 0.5 else rng.randbytes(end - start)
    mark.write_bytes(data)
    return f"bytes {start} to {end} of {mark.name}"


def _metalog(left: Left, *words: str) -> str:
    """Run a command, and return its output.

    Raises:
        _Broken: it failed, or without a valid slot it did not say what is damaged.
    """
    done = subprocess.run(
        [*METALOG, *words], capture_output=True, text=True, timeout=_CUT_OFF_SECONDS, check=False
    )
    return _judged(left, done.returncode, done.stdout, done.stderr)


def _judged(left: Left, code: int, out: str, err: str) -> str:
    if left.has_valid_slot():
        if code:
            raise _Broken(f"exit {code}: {err}")
    elif code != 5 or COMMIT_MARK not in err or "metalog repair" not in err:
        raise _Broken(f"without a valid slot: exit {code}: {err}")
    return out


def _reads(*words: str) -> Callable[[Left], None]:
    def command(left: Left) -> None:
        _metalog(left, *words, str(left.directory))

    return command


def _check_kept(left: Left) -> None:
    if left.has_valid_slot() and not left.acknowledged <= left.topics():
        raise _Broken(f"lost: {sorted(left.acknowledged - left.topics())}")


def _writes(*words: str) -> Callable[[Left], None]:
    def command(left: Left) -> None:
        _metalog(left, *words, "--log", str(left.directory))
        _check_kept(left)

    return command


def _deletes_the_last(left: Left) -> None:
    if not left.acknowledged:
        return
    last = max(left.acknowledged, key=lambda name: int(name[1:]))
    _metalog(left, "topics", "delete", last, "--log", str(left.directory))
    _check_kept(left)


def _appends(left: Left) -> None:
    lines = left.directory.with_name("records.jsonl")
    record = {"name": "more", "topic_id": "AAECAwQFBgcICQoLDA0ODg"}
    lines.write_text(json.dumps({"type": "TopicRecord", "data": record}) + "\n")
    _metalog(left, "append", str(lines), "--log", str(left.directory))
    _check_kept(left)
    if left.has_valid_slot() and "more" not in left.topics():
        raise _Broken("its own record is not there")


def _serves(left: Left) -> None:
    process = subprocess.Popen(
        [*METALOG, "serve", str(left.directory), "--kafka", "127.0.0.1:0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    ready = process.stdout.readline()
    if ready:
        process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=_CUT_OFF_SECONDS)
    _judged(left, process.returncode, ready + out, err)
    _check_kept(left)


COMMANDS: dict[str, Callable[[Left], None]] = {
    "serve": _serves,
    "append": _appends,
    "notes add": _writes("notes", "add", "0", "the crash"),
    "features upgrade": _writes("features", "upgrade", "namespace.version=1"),
    "topics delete": _deletes_the_last,
    "info": _reads("info"),
    "dump": _reads("dump"),
}
"""The commands, each with its check; a piece starts them in turn."""
