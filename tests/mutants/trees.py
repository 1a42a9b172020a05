"""Copies of the project: one unchanged, in which mutants are planted, and one with counters."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".mutants"
_NOT_COPIED = (".git", ".venv", ".mutants", ".torture", "__pycache__", ".mypy_cache", ".hypothesis")


def copy_tree(target: Path) -> None:
    """Make a fresh copy of the project's files, including uncommitted ones."""
    shutil.rmtree(target, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def environment(tree: Path) -> dict[str, str]:
    """Return the environment in which every process imports the modules of a tree."""
    logs = ROOT.parent / "shared"
    return {
        **os.environ,
        "PYTHONPATH": str(tree),
        "PYTHONDONTWRITEBYTECODE": "1",
        "METALOG_REAL_LOGS": os.environ.get("METALOG_REAL_LOGS", str(logs / "kraft-logs")),
    }


def digest(*paths: Path) -> str:
    """Return a digest of files; a missing file counts with its name only."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.name.encode())
        if path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def digest_of_tree() -> str:
    """Return a digest of every source and test."""
    return digest(*sorted(p for p in ROOT.rglob("*.py") if not set(p.parts) & set(_NOT_COPIED)))
