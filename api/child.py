"""Child processes of a service, which do what would hold up its event loop."""

import asyncio
import contextlib
import os

_LOWEST_PRIORITY = 19
_END_WAIT_S = 5.0


def give_way(pid: int) -> None:
    """Let a child run when nothing else wants to."""
    with contextlib.suppress(OSError):  # it may have ended already
        os.setpriority(os.PRIO_PROCESS, pid, _LOWEST_PRIORITY)


async def end(child: asyncio.subprocess.Process) -> None:
    """End a child that still runs, and wait for it."""
    if child.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        child.terminate()
    try:
        async with asyncio.timeout(_END_WAIT_S):
            await child.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()
