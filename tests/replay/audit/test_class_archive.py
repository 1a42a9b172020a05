"""The archive of Java's classes: made once, by one process, and used only by the right Java."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from replay.audit.class_archive import ClassArchive
from replay.audit.java import Java

_COMMAND = """
import sys
from pathlib import Path
from pyspark import SparkContext
from api.cli.main import run
code = run(["audit", "sql", sys.argv[1], "SELECT count(*) AS records FROM log"])
maps = Path(f"/proc/{SparkContext._gateway.proc.pid}/maps").read_text()
print(".jsa" if sys.argv[2] in maps else "-")
sys.exit(code)
"""


def java(home: Path, *, with_archive: bool = True) -> Java:
    """Return an installed Java that has only the files that are checked."""
    (home / "lib" / "server").mkdir(parents=True)
    (home / "lib" / "modules").touch()
    if with_archive:
        (home / "lib" / "server" / "classes.jsa").touch()
    return Java(executable=home / "bin" / "java", major=17)


def options(folder: Path, found: Java, *, make: bool = True) -> str:
    archive = ClassArchive(folder, make=make)
    try:
        return archive.options(found).partition(" ")[0]
    finally:
        archive.close()


def test_one_process_at_a_time_makes_the_archive(tmp_path: Path) -> None:
    found, first = java(tmp_path / "java"), ClassArchive(tmp_path / "new", make=True)
    assert first.options(found).startswith("-XX:+RecordDynamicDumpInfo ")
    assert options(tmp_path / "new", found) == ""
    first.close()
    assert options(tmp_path / "new", found) == "-XX:+RecordDynamicDumpInfo"


def test_archive_is_used_by_the_java_that_made_it(tmp_path: Path) -> None:
    found, folder = java(tmp_path / "java"), tmp_path / "archives"
    archive = ClassArchive(folder, make=True)
    archive.options(found)
    path = folder / f"{archive._key}.5.jsa"
    path.write_bytes(b"cut")
    archive.close()
    # Java would crash on it.
    assert options(folder, found) == "-XX:+RecordDynamicDumpInfo"
    path.write_bytes(b"whole")
    for make in (True, False):
        assert options(folder, found, make=make) == f"-XX:SharedArchiveFile={path}"
    os.utime(tmp_path / "java" / "lib" / "modules", (1, 1))
    assert options(folder, found) == "-XX:+RecordDynamicDumpInfo"
    assert options(folder, java(tmp_path / "other")) == "-XX:+RecordDynamicDumpInfo"


def test_no_archive_is_made_where_none_can_be(tmp_path: Path) -> None:
    bare = java(tmp_path / "bare", with_archive=False)
    assert options(tmp_path / "archives", bare) == ""
    found = java(tmp_path / "java")
    assert options(tmp_path / "archives", found, make=False) == ""
    assert options(tmp_path / "with space", found) == ""
    # A folder that cannot be made, by root either.
    (tmp_path / "file").touch()
    assert options(tmp_path / "file" / "archives", found) == ""


def test_archives_of_former_installations_are_removed(tmp_path: Path) -> None:
    for age in range(5):
        path = tmp_path / f"{age}.jsa"
        path.touch()
        os.utime(path, (1_000 - age, 1_000 - age))
    archive = ClassArchive(tmp_path, make=True)
    archive._remove_old(tmp_path / "4.jsa")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.jsa", "1.jsa", "4.jsa"]


@pytest.mark.heavy
@pytest.mark.spark
def test_command_makes_an_archive_that_the_next_one_uses(demo_log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "metalog" / "java"

    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-c", _COMMAND, demo_log, folder],
            env={**os.environ, "XDG_CACHE_HOME": str(folder.parents[1])},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        name, count, mapped = done.stdout.splitlines()
        assert (name, int(count) > 0) == ("records", True)
        return mapped

    assert run() == "-"
    (made,) = folder.glob("*.jsa")
    assert run() == ".jsa"
    damaged = made.read_bytes()[:1_000_000]
    made.unlink()
    made.write_bytes(damaged)
    assert run() == "-"
