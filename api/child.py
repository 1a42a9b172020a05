"""Child processes of a service, for work that would block its event loop."""

import asyncio
import contextlib
import os

_LOWEST_PRIORITY = 19
_END_WAIT_S = 5.0


def give_way(pid: int) -> None:
    """Lower a child's priority to idle."""
    with contextlib.suppress(OSError):  # it may have ended already
        os.setpriority(os.PRIO_PROCESS, pid, _LOWEST_PRIORITY)


async def end(child: asyncio.subprocess.Process) -> None:
    """Terminate a child if it still runs, and wait for it."""
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
