"""Real Kafka metadata logs and known correct bytes, in a folder beside the checkout.

The folder of the logs is METALOG_REAL_LOGS, that of the reference METALOG_REFERENCE; by default
`../shared/kraft-logs` and `../shared/reference`. Tests that need them skip if they are absent.
"""

import functools
import gzip
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft_format.names import PARTITION_DIRECTORY

_SHARED = Path(__file__).parents[2] / "shared"
REAL_LOGS = Path(os.environ.get("METALOG_REAL_LOGS", _SHARED / "kraft-logs"))
REFERENCE = Path(os.environ.get("METALOG_REFERENCE", _SHARED / "reference"))

_IDENTICAL = re.compile(
    r"- `(?P<file>\S+\.log)` (?P<size>\d+) bytes: byte-identical to `(?P<of>\S+)`"
)

_ABOUT_THE_DATA = re.compile(r"\.(json|jsonl|jsonl\.gz|log)$")

_Test = TypeVar("_Test", bound=Callable[..., object])


class StoredFile(msgspec.Struct, frozen=True):
    """A segment or checkpoint of a node: the first `size` bytes of a stored file.

    `record_count` and `types` (each with its version) were found in it by another program.
    """

    name: str
    path: Path
    size: int
    record_count: int
    types: frozenset[str]

    def read(self) -> bytes:
        with self.path.open("rb") as file:
            return file.read(self.size)

    def oracle(self) -> Iterator[dict[str, Any]]:
        """Yield each record as another program decoded it, with Kafka's names."""
        plain = self.path.with_name(self.path.name + ".jsonl")
        packed = self.path.with_name(self.path.name + ".jsonl.gz")
        with plain.open() if plain.exists() else gzip.open(packed, "rt") as lines:
            for index, line in enumerate(lines):
                if index == self.record_count:
                    return
                yield json.loads(line)


class DataSet(msgspec.Struct, frozen=True):
    """The metadata log of one node.

    `directory` is the node's folder as stored. If its log is a copy or the beginning of another
    node's log, it may be stored under that node only, so read the folder made by `materialise`.
    `final_image_path` is the state at the log's end as another program computed it, or None.
    `earlier_sizes` are earlier sizes of the last segment, ascending. If `is_cleaned`, `materialise`
    deletes the log's beginning, as Kafka does after a checkpoint.
    """

    name: str
    node: str
    directory: Path
    segments: tuple[StoredFile, ...]
    checkpoints: tuple[StoredFile, ...]
    final_image_path: Path | None
    earlier_sizes: tuple[int, ...]
    is_cleaned: bool = False

    def __str__(self) -> str:
        return f"{self.name}/{self.node}{'/cleaned' if self.is_cleaned else ''}"

    @property
    def cluster_id(self) -> str | None:
        """The id of the cluster; None if the node's folder does not contain it."""
        properties = self.directory / "meta.properties"
        found = (
            re.search(r"cluster\.id=(.*)", properties.read_text()) if properties.exists() else None
        )
        return found[1] if found else None

    @property
    def types(self) -> frozenset[str]:
        """The record types of its segments, each with its version."""
        return frozenset().union(*(segment.types for segment in self.segments))

    @property
    def is_copy(self) -> bool:
        """True if its whole log is equal to another node's log, or to the beginning of one."""
        return not any(each.path.is_relative_to(self.directory) for each in self.segments)

    def cleaned(self) -> "DataSet":
        """Return the same log, cleaned up to half of what its oldest checkpoint contains."""
        return msgspec.structs.replace(self, is_cleaned=True)

    def materialise(self, target: Path, *, sizes: Mapping[str, int] | None = None) -> Path:
        """Write the node's folder below `target` and return it.

        Args:
            sizes: Number of bytes to keep of a segment, by its name; 0 omits the segment.
        """
        directory = target / self.name / self.node
        (directory / PARTITION_DIRECTORY).mkdir(parents=True)
        for source in (*self.directory.glob("*"), *self.directory.glob(f"{PARTITION_DIRECTORY}/*")):
            if source.is_file() and not _ABOUT_THE_DATA.search(source.name):
                shutil.copyfile(source, directory / source.relative_to(self.directory))
        for segment in self.segments:
            size = (sizes or {}).get(segment.name, segment.size)
            path = directory / PARTITION_DIRECTORY / segment.name
            path.unlink(missing_ok=True)
            if size:
                path.write_bytes(segment.read()[:size])
        if self.is_cleaned:
            _clean(directory)
        return directory


def _clean(directory: Path) -> None:
    """Delete the first half of the batches below the oldest checkpoint.

    Kafka deletes whole segments, so a cleaned log begins somewhere in what its checkpoint contains.
    """
    source = open_directory(directory)
    (segment,) = source.segments
    end = source.checkpoints[0].end_offset
    below = [each for each in source.headers(0) if each.header.base_offset < end]
    first = below[len(below) // 2]
    data = segment.path.read_bytes()
    cut = segment.path.with_name(f"{first.header.base_offset:020d}.log")
    cut.write_bytes(data[first.position.byte :])
    segment.path.unlink()


@functools.cache
def data_sets() -> tuple[DataSet, ...]:
    """Return the log of every node; empty if the folder is absent."""
    partitions = sorted(REAL_LOGS.glob(f"*/*/{PARTITION_DIRECTORY}"))
    return tuple(_data_set(partition.parent) for partition in partitions)


@functools.cache
def cleaned_data_sets() -> tuple[DataSet, ...]:
    """Return the logs with a checkpoint, each without a part of what its checkpoint contains."""
    return tuple(each.cleaned() for each in data_sets() if each.checkpoints)


def _data_set(directory: Path) -> DataSet:
    name, node = directory.parent.name, directory.name
    partition = directory / PARTITION_DIRECTORY
    segments = [_stored(path) for path in sorted(partition.glob("*.log"))]
    segments += _stored_elsewhere(directory)
    images = [directory, *{segment.path.parents[1] for segment in segments}]
    is_whole = all(segment.size == segment.path.stat().st_size for segment in segments)
    candidates = images if is_whole else images[:1]
    final_images = [path for d in candidates if (path := d / "final-image.json").exists()]
    return DataSet(
        name=name,
        node=node,
        directory=directory,
        segments=tuple(segments),
        checkpoints=tuple(_stored(path) for path in sorted(partition.glob("*.checkpoint"))),
        final_image_path=final_images[0] if final_images else None,
        earlier_sizes=_earlier_sizes(directory, segments[-1].name),
    )


def _stored(path: Path) -> StoredFile:
    count, types = _found_in(path.parents[1], path.name)
    return StoredFile(path.name, path, path.stat().st_size, count, types)


def _stored_elsewhere(directory: Path) -> Iterator[StoredFile]:
    """Yield the logs that are equal to another node's log, or to the beginning of one."""
    data_set, node = directory.parent, directory.name
    aliases = json.loads((REAL_LOGS / "prefix-aliases.json").read_text())
    for alias in aliases:
        if alias["dataset"] == data_set.name and alias["file"].startswith(f"{node}/"):
            path = data_set / alias["prefixOf"]
            count, types = _found_in(directory, path.name)
            yield StoredFile(path.name, path, alias["bytes"], count, types)
    source = (data_set / "SOURCE.md").read_text()
    (section,) = [part for part in source.split("\n## ") if part.startswith(f"{node}\n")]
    for found in _IDENTICAL.finditer(section):
        yield _stored(data_set / found["of"])


def _found_in(directory: Path, file_name: str) -> tuple[int, frozenset[str]]:
    (entry,) = [
        entry
        for entry in _index()
        if entry["dataset"] == directory.parent.name
        and entry["node"] == directory.name
        and entry["file"] == file_name
    ]
    return int(entry["records"]), frozenset(entry["type_versions"])


@functools.cache
def _index() -> list[dict[str, Any]]:
    index: list[dict[str, Any]] = json.loads((REAL_LOGS / "index.json").read_text())
    return index


def _earlier_sizes(directory: Path, file_name: str) -> tuple[int, ...]:
    history = directory.parent / "history.json"
    versions = json.loads(history.read_text()) if history.exists() else []
    return tuple(
        sorted(
            version["size"]
            for version in versions
            if version["node"] == directory.name
            and version["file"] == file_name
            and version["prefixOfLargerVersion"]
        )
    )


@functools.cache
def _covering_data_sets() -> frozenset[str]:
    """Return a few logs that together have every version of every record type in any of the
    logs.
    """
    left = {each for data_set in data_sets() for each in data_set.types}
    chosen = set()
    while left:
        best = max(data_sets(), key=lambda data_set: len(data_set.types & left))
        left -= best.types
        chosen.add(str(best))
    return frozenset(chosen)


def each_data_set(test: _Test) -> _Test:
    """Run a test on the log of every node, as its argument `data_set`."""
    return each_data_set_where(lambda data_set: True)(test)


def _is_copy(data_set: DataSet) -> bool:
    return data_set.is_copy


def each_covering_data_set(test: _Test) -> _Test:
    """Run a test on a few logs that together have every record type; on all with `make heavy`."""
    return each_data_set_where(lambda data_set: True, is_heavy=is_not_needed)(test)


def is_not_needed(data_set: DataSet) -> bool:
    """True if the other logs have every record type."""
    return str(data_set) not in _covering_data_sets()


def each_data_set_where(
    holds: Callable[[DataSet], bool],
    *,
    is_heavy: Callable[[DataSet], bool] = _is_copy,
    of: Callable[[], Sequence[DataSet]] = data_sets,
) -> Callable[[_Test], _Test]:
    """Run a test on the logs for which `holds` is true; on heavy ones with `make heavy` only.

    A module's fixture may use `data_set`: all tests of a module run on one log before the next.
    """
    absent = pytest.mark.skip(reason=f"no real Kafka logs at {REAL_LOGS}")
    values = [
        pytest.param(each, id=str(each), marks=[pytest.mark.heavy] if is_heavy(each) else [])
        for each in of()
        if holds(each)
    ]
    values = values or [pytest.param(None, marks=absent, id="absent")]

    def mark(test: _Test) -> _Test:
        of_each = pytest.mark.parametrize("data_set", values, scope="module")
        marked: _Test = pytest.mark.real_logs(of_each(test))
        return marked

    return mark


needs_reference = [
    pytest.mark.real_logs,
    pytest.mark.skipif(not REFERENCE.is_dir(), reason=f"no reference at {REFERENCE}"),
]


@functools.cache
def binary_vectors() -> dict[str, Any]:
    """Return bytes of Kafka's binary format with their meaning; empty if absent."""
    path = REFERENCE / "binary-vectors.json"
    vectors: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return vectors
