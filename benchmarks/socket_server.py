"""A bare log served over a socket in a separate process.

`python -m benchmarks.socket_server LOG PORT [URL]` makes the log; with a URL, it leads a new shared
log there. On SIGTERM the process closes the log and ends.
"""

import asyncio
import signal
import sys
from pathlib import Path

from api.socket.server import serve_socket
from benchmarks.log_sessions import sessions_on
from benchmarks.nodes.leading import leading
from benchmarks.own_log import CLUSTER_ID
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog


async def serve(directory: Path, port: int, url: str | None = None) -> None:
    """Create a log and serve appends to it until SIGTERM."""
    create_log(directory, CLUSTER_ID)
    async with await MetadataLog.open(directory) if url is None else leading(directory, url) as log:
        server = await serve_socket(sessions_on(log), cluster_id=CLUSTER_ID, port=port)
        ended = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        await ended.wait()
        await server.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
