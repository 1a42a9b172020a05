"""Small disks that can be filled: file systems of their own in a file. Needs root, and Linux."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

_PIECES = (1 << 20, 1 << 16, 1 << 12)


class Disk:
    """A mounted file system."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._ballast = place / "ballast"

    def fill(self) -> None:
        """Take all space that is left."""
        end = 0
        with self._ballast.open("wb") as ballast:
            for size in _PIECES:
                with contextlib.suppress(OSError):
                    while True:
                        os.posix_fallocate(ballast.fileno(), end, size)
                        end += size

    def free(self) -> None:
        """Give the space back."""
        self._ballast.unlink()


@contextlib.contextmanager
def small_disk(place: Path, size_mb: int) -> Iterator[Disk]:
    """Mount a new, empty disk at a new directory; unmount it afterwards."""
    place.mkdir()
    image = place.with_suffix(".image")
    with image.open("wb") as file:
        file.truncate(size_mb << 20)
    _run("mkfs.ext4", "-q", "-m", "0", str(image))
    _run("mount", "-o", "loop", str(image), str(place))
    try:
        yield Disk(place)
    finally:
        _run("umount", str(place))
        image.unlink()


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
