"""Detects that this program's files were replaced while it runs, as by an upgrade in place.

A process started before the upgrade continues with its old code, but its new child processes would
import the new files, of another release.
"""

import os
from hashlib import sha256
from pathlib import Path

_PACKAGES = ("records", "metadata_log", "replay", "controller", "api")
_ROOT = Path(__file__).resolve().parents[2]
_SUFFIXES = (".py", ".avsc")


def fingerprint(root: Path = _ROOT) -> bytes:
    """Return a digest of the names, sizes and times of this program's files.

    Takes about 10 ms.
    """
    digest = sha256()
    for package in _PACKAGES:
        for folder, folders, names in os.walk(root / package):
            folders.sort()
            for name in sorted(names):
                if name.endswith(_SUFFIXES):
                    path = f"{folder}/{name}"
                    found = os.stat(path)
                    digest.update(f"{path}\0{found.st_size}\0{found.st_mtime_ns}\0".encode())
    return digest.digest()
