"""A log behind its socket, in a process of its own: `python -m benchmarks.socket_server LOG PORT`.

It ends, with the log closed, when it is told to terminate.
"""

import asyncio
import signal
import sys
from pathlib import Path

from api.socket.server import serve_socket
from benchmarks.own_log import CLUSTER_ID
from metadata_log.creation import create_log
from metadata_log.log import MetadataLog


async def serve(directory: Path, port: int) -> None:
    """Make a log and take appends to it until SIGTERM."""
    create_log(directory, CLUSTER_ID)
    log = await MetadataLog.open(directory)
    server = await serve_socket(log, cluster_id=CLUSTER_ID, port=port)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await server.close()
    await log.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2])))
