"""A client for programs without an event loop."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from typing import Any, Self, TypeVar

from api.clients.reconnecting_client import PATIENCE_S, ReconnectingClient
from api.requests.wire_requests import AnswerPage
from controller.decisions.request import Request
from controller.results.answer import Answer
from metadata_log.format.batch import AppendResult, Batch, NewBatch

A = TypeVar("A")
T = TypeVar("T")


class BlockingClient:
    """The calls of `ReconnectingClient`, as functions that block until the answer arrives.

    Threads may share it; their requests share a connection. It runs an event loop in its own thread
    until it is closed.
    """

    def __init__(self, url: str, *, patience_s: float = PATIENCE_S) -> None:
        """Start the thread; the arguments are those of `ReconnectingClient`."""
        self._client = ReconnectingClient(url, patience_s=patience_s)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="metalog client", daemon=True
        )
        self._thread.start()

    def run(self, request: Request[A], **options: Any) -> Answer[A]:
        """Run a command; takes the options of `CommandClient.run`, and raises the same errors."""
        return self._wait(self._client.run(request, **options))

    def page(self, question: str, request: Any, **options: Any) -> AnswerPage:
        """Ask a question; as `CommandClient.page`."""
        return self._wait(self._client.page(question, request, **options))

    def append(self, batch: NewBatch, **conditions: Any) -> AppendResult:
        """Commit a batch; as `ReconnectingClient.append`."""
        return self._wait(self._client.append(batch, **conditions))

    def subscribe(self, from_offset: int, **options: Any) -> Iterator[Batch]:
        """Yield committed batches from an offset on, without end; as `CommandClient.subscribe`."""
        batches = self._client.subscribe(from_offset, **options)

        async def following() -> Batch:
            return await anext(batches)

        while True:
            yield self._wait(following())

    def close(self) -> None:
        """Wait for outstanding answers, disconnect, and end the thread."""
        self._wait(self._client.close())
        self._wait(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, call: Coroutine[Any, Any, T]) -> T:
        """Run a call in the loop and return its result; an interrupt cancels it."""
        answer = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            return answer.result()
        except BaseException:
            answer.cancel()
            raise
