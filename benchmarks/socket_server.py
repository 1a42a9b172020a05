"""A log served over a socket in a separate process: `python -m benchmarks.socket_server LOG PORT`.

On SIGTERM the process closes the log and ends.
"""

import asyncio
import signal
import sys
from pathlib import Path

from api.socket.server import serve_socket
from benchmarks.log_sessions import sessions_on
from benchmarks.own_log import CLUSTER_ID
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog


async def serve(directory: Path, port: int) -> None:
    """Create a log and serve appends to it until SIGTERM."""
    create_log(directory, CLUSTER_ID)
    log = await MetadataLog.open(directory)
    server = await serve_socket(sessions_on(log), cluster_id=CLUSTER_ID, port=port)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await server.close()
    await log.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2])))
