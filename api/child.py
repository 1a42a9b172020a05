"""Child processes of a service, for work that would block its event loop."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping

_LOWEST_PRIORITY = 19

HISTORY_DATABASE = "METALOG_HISTORY_DATABASE"
"""Environment variable with the URL of the SQL history's database, which may have a password."""

END_WAIT_S = 2.0
"""Seconds that a child may take to end before it is killed, and that the system may take to end a
killed child. Short, because a service that ends waits for its children."""


async def start_command(
    *arguments: str, stdout: int, environment: Mapping[str, str] | None = None
) -> asyncio.subprocess.Process:
    """Start a `metalog` command at the lowest priority; its standard error is a pipe.

    Args:
        environment: Variables added to those of this process. For secrets: everyone on the machine
            can read the arguments of a process, but only its own user can read its environment.

    Raises:
        OSError: the system cannot start a process now.
    """
    child = await asyncio.create_subprocess_exec(
        # -P: the packages of this program, whatever stands in the current directory.
        *(sys.executable, "-P", "-m", "api.cli", *arguments),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
        # Ctrl-C at a terminal goes to the service, which ends the child itself.
        start_new_session=True,
    )
    give_way(child.pid)
    return child


def give_way(pid: int) -> None:
    """Set a process to the lowest priority."""
    with contextlib.suppress(OSError):  # it may have ended already
        os.setpriority(os.PRIO_PROCESS, pid, _LOWEST_PRIORITY)


async def end(child: asyncio.subprocess.Process) -> None:
    """Terminate a child if it still runs, and wait for it; kill it if it does not end in time."""
    if child.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        child.terminate()
    try:
        async with asyncio.timeout(END_WAIT_S):
            await child.wait()
    except TimeoutError:
        await kill(child)


async def kill(child: asyncio.subprocess.Process) -> None:
    """Kill a child, even if it is suspended. Only for children that may be killed at any time."""
    if child.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        child.kill()
    # A process that waits for a hung disk ends only when the disk answers.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(END_WAIT_S):
            await child.wait()
