"""Plants a bug: a copy of the sources with one change, on which a part of a campaign runs."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.torture.planted_bugs.bug import Bug

_ROOT = Path(__file__).parents[3]
_COPIED = ("records", "metadata_log", "replay", "controller", "api")
_SECONDS_MAX = 600


class Found(msgspec.Struct, frozen=True):
    """The result of a run: the sources it ran on, and the messages of its failures."""

    sources: str
    messages: list[str]


def planted(bug: Bug, source: str) -> str:
    """Return a source with the bug in it.

    Raises:
        ValueError: the text to replace does not occur exactly once.
    """
    if source.count(bug.old) != 1:
        raise ValueError(f"{bug.name}: {bug.file} holds the old text {source.count(bug.old)} times")
    return source.replace(bug.old, bug.new)


def problem(bug: Bug) -> str | None:
    """Plant a bug and run its campaign or test; return why it was not noticed, None if it was."""
    with _copy() as folder:
        path = folder / bug.file
        path.write_text(planted(bug, path.read_text()))
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        compile(path.read_text(), str(path), "exec")
        found = _run_slice(folder, bug)
    if isinstance(found, str):
        return found
    assert Path(found.sources).is_relative_to(folder), found.sources
    if any(message for message in found.messages):
        return None
    return f"{bug.name} was not caught by {bug.campaign}, seeds {bug.seeds}: {bug.what}"


def found_without(bug: Bug) -> Found | str:
    """Run the same on an unchanged copy, where the bug must not be found."""
    with _copy() as folder:
        return _run_slice(folder, bug)


@contextmanager
def _copy() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="metalog-planted-") as name:
        folder = Path(name)
        # With their bytecode, which is valid for a copy that keeps its source's time.
        for package in _COPIED:
            shutil.copytree(_ROOT / package, folder / package)
        # The tests are the project's own: only what they test is changed.
        for name in ("tests", "migrations"):
            (folder / name).symlink_to(_ROOT / name)
        # How they are run: without it every asynchronous test would fail, bug or not.
        (folder / "pyproject.toml").symlink_to(_ROOT / "pyproject.toml")
        yield folder


def _run_slice(folder: Path, bug: Bug) -> Found | str:
    """Run a part of a campaign in a separate process, on the sources in a folder.

    Returns:
        The result, or how the process ended if it failed.
    """
    seeds = ",".join(map(str, bug.seeds))
    words = ["tests.torture.planted_bugs.slice", bug.campaign, seeds, bug.expects]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    ended = subprocess.run(
        [sys.executable, "-B", "-m", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_SECONDS_MAX,
        check=False,
    )
    if ended.returncode:
        return f"{bug.name}: the slice broke down: {ended.stderr.strip()[-600:]}"
    return msgspec.json.decode(ended.stdout, type=Found)
