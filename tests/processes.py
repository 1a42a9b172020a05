"""Processes that tests start and that are always ended, and the open files of this process."""

import asyncio
import contextlib
import resource
from collections.abc import Callable
from pathlib import Path


def descriptor_limit(descriptors: int | None) -> Callable[[], None] | None:
    """Return a function that sets the limit of open files of a process, soft and hard.

    Args:
        descriptors: The limit; None for that of this process.
    """
    if descriptors is None:
        return None

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    return limit


async def ended(process: asyncio.subprocess.Process, within_s: float) -> int:
    """Wait for the end of a process and return its exit code; kill it if it takes longer.

    Raises:
        TimeoutError: it had to be killed.
    """
    try:
        async with asyncio.timeout(within_s):
            # Also reads what is left, so that the pipe is closed.
            await process.communicate()
    except TimeoutError:
        process.kill()
        await process.communicate()
        raise
    assert process.returncode is not None
    return process.returncode


def open_descriptors(below: Path) -> int:
    """Return how many files in a folder this process has open."""
    found = 0
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found += link.readlink().is_relative_to(below)
    return found
