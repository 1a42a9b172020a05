"""Requests that were committed recently, so that a writer recognizes repeated ones.

The writer reads them from the log's tail when the first request id arrives.
"""

import asyncio
from collections.abc import Callable

from metadata_log.log_reader import LogReader
from metadata_log.own_thread import RunBlocking
from metadata_log.request_window import RequestWindow


class KnownRequests:
    """The request window of one writer, loaded on demand.

    Attributes:
        window: The recent committed requests; empty before `load`.
        is_loaded: True once the window was read from the log.
    """

    def __init__(self, open_reader: Callable[[], LogReader], run_blocking: RunBlocking) -> None:
        """Start with an empty window.

        Args:
            open_reader: Opens the log; blocks.
        """
        self._open_reader = open_reader
        self._run_blocking = run_blocking
        self._loading = asyncio.Lock()
        self.window = RequestWindow()
        self.is_loaded = False

    async def load(self) -> None:
        """Read the window from the log, unless it is loaded already.

        Raises:
            CorruptLogError: the log's tail is damaged.
        """
        async with self._loading:
            if not self.is_loaded:
                await self._run_blocking(self._read)
                self.is_loaded = True

    def _read(self) -> None:
        with self._open_reader() as reader:
            self.window = RequestWindow.of_tail(reader)
