"""Records which test executes which statement; only new or changed tests run again."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from tests.mutants.hits import Statement, instrument, read_table
from tests.mutants.selection import Recorded
from tests.mutants.trees import FOLDER, ROOT, copy_tree, digest, environment

_COUNTED = FOLDER / "counted"
_RAW = FOLDER / "raw.jsonl"
_RECORDED = FOLDER / "recorded.jsonl"
# Spark, S3 and real clients take minutes and test what is drawn from only by the way; the
# others are about the project itself.
_LEFT_OUT = (
    "tests/benchmarks",
    "tests/golden/test_adding_a_field.py",
    "tests/golden/test_adding_a_record.py",
    "tests/golden/test_adding_a_verb.py",
    "tests/mutants",
    "tests/replay/audit",
    "tests/stories",
    "tests/test_docs.py",
    "tests/torture",
)
_OPTIONS = ("-m", "not spark", "-k", "not s3", "--hypothesis-seed=20261122")


def record(*, anew: bool) -> tuple[list[Recorded], list[Statement]]:
    """Return the statements of every test; runs the tests that are not recorded yet.

    Args:
        anew: Discard the recordings. Otherwise a recording is used as long as the file of the test
            is the same; if the code is newer than it, tests may be missed.
    """
    _keep_raw()
    if anew:
        _RECORDED.unlink(missing_ok=True)
    copy_tree(_COUNTED)
    instrument(_COUNTED)
    known = {test.file_digest for test in _read()}
    files = [file for file in _test_files() if digest(ROOT / file) not in known]
    if files:
        print(f"recording {len(files)} files of tests, once", flush=True)
        _run(files)
        _keep_raw()
        _note_empty(files)
    current = {digest(ROOT / file) for file in _test_files()}
    return [test for test in _read() if test.file_digest in current], read_table(_COUNTED)


def _test_files() -> list[str]:
    found = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests").rglob("test_*.py"))
    return [file for file in found if not file.startswith(_LEFT_OUT)]


def _run(files: list[str]) -> None:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.hits_plugin"]
    env = {**environment(_COUNTED), "MUTANT_HITS_OUT": str(_RAW)}
    env.pop("PYTHONDONTWRITEBYTECODE")
    subprocess.run(
        [*words, "-p", "no:cacheprovider", "--tb=line", *_OPTIONS, *files],
        cwd=_COUNTED,
        env=env,
        check=False,
    )


def _keep_raw() -> None:
    """Keep the recordings of a run, also of one that was killed, except those of its last test
    file.
    """
    lines = _lines(_RAW)
    if not lines:
        return
    keys = [statement.key for statement in read_table(_COUNTED)]
    last = "" if lines[-1].get("end") else _file_of(lines[-1])
    with _RECORDED.open("ab") as out:
        for line in lines:
            if "test" in line and _file_of(line) != last:
                test = Recorded(
                    test=line["test"],
                    file_digest=digest(_COUNTED / _file_of(line)),
                    outcome=line["outcome"],
                    seconds=line["seconds"],
                    hits=frozenset(keys[number] for number in line["hits"]),
                )
                out.write(msgspec.json.encode(test) + b"\n")
    _RAW.unlink()


def _note_empty(files: list[str]) -> None:
    """Record the files without chosen tests, so that they are not collected again."""
    known = {test.file_digest for test in _read()}
    with _RECORDED.open("ab") as out:
        for file in files:
            if digest(ROOT / file) not in known:
                empty = Recorded(file, digest(ROOT / file), "nothing", 0.0, frozenset())
                out.write(msgspec.json.encode(empty) + b"\n")


def _read() -> list[Recorded]:
    if not _RECORDED.exists():
        return []
    decode = msgspec.json.Decoder(Recorded).decode
    return [decode(line) for line in _RECORDED.read_bytes().splitlines()]


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file, except an incomplete last one."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _file_of(line: dict[str, Any]) -> str:
    return str(line["test"]).partition("::")[0]
