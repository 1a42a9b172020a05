"""Runs the mirrors of a file, and reads the file again on SIGHUP."""

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from api.recorder.metrics import metrics_text, serve_metrics
from api.recorder.recorded_mirror import RecordedMirror
from api.recorder.settings import RecorderSettings, read_settings
from api.transport.shutdown import stopped_by_signal, unless_set
from records.errors import RequestError, UnavailableError

log = logging.getLogger(__name__)


class RecorderReady(msgspec.Struct, frozen=True, kw_only=True):
    """The mirrors that are recorded, and the address of the metrics."""

    metrics: str
    mirrors: tuple[str, ...]


class Recorder:
    """The mirrors that one process records."""

    def __init__(self, path: Path, write: Callable[[str], None]) -> None:
        """Read the file; `write` writes a line of output.

        Raises:
            RequestError: as `read_settings`.
        """
        self._path, self._write = path, write
        self._settings = read_settings(path)
        self._mirrors: dict[str, RecordedMirror] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._hangup = asyncio.Event()
        self._loaded_at, self._is_loaded = time.time(), True

    async def run(self, ready: Callable[[RecorderReady], None]) -> None:
        """Record until SIGTERM or SIGINT.

        Args:
            ready: Called once the metrics are served.

        Raises:
            UnavailableError: the address of the metrics is in use.
        """
        loop = asyncio.get_running_loop()
        host, port = self._settings.metrics
        try:
            server = await serve_metrics(self._settings.metrics, self._text)
        except OSError as error:
            raise UnavailableError(
                f"metrics: {host}:{port} cannot be listened on ({error.strerror}); name another "
                "address"
            ) from error
        with stopped_by_signal() as stop:
            loop.add_signal_handler(signal.SIGHUP, self._hangup.set)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
            try:
                async with server:
                    await self._apply(self._settings)
                    host, port = server.sockets[0].getsockname()[:2]
                    ready(RecorderReady(metrics=f"{host}:{port}", mirrors=tuple(self._mirrors)))
                    await unless_set(stop, self._reload_when_asked())
            finally:
                loop.remove_signal_handler(signal.SIGHUP)
                await self._stop(list(self._tasks))

    def _text(self) -> str:
        return metrics_text(
            self._mirrors.values(), loaded_at=self._loaded_at, is_loaded=self._is_loaded
        )

    async def _reload_when_asked(self) -> None:
        while True:
            await self._hangup.wait()
            self._hangup.clear()
            try:
                settings = read_settings(self._path)
            except (RequestError, OSError) as error:
                self._is_loaded = False
                log.error("SIGHUP: nothing is changed: %s", error)
            else:
                await self._apply(settings)
                self._is_loaded, self._loaded_at = True, time.time()
            for mirror in self._mirrors.values():
                mirror.retry()

    async def _apply(self, settings: RecorderSettings) -> None:
        """Stop removed and changed mirrors, then start new ones; the other mirrors keep running."""
        if settings.metrics != self._settings.metrics:
            log.warning("metrics: a new address is used from the next start on")
        self._settings = settings
        kept = {
            name
            for name, mirror in self._mirrors.items()
            if name in settings.mirrors and settings.mirrors[name].records_as(mirror.settings)
        }
        await self._stop([name for name in self._tasks if name not in kept])
        for name, each in settings.mirrors.items():
            if name in kept:
                self._mirrors[name].use_checks_of(each)
            else:
                log.info("%s is recorded into %s", name, each.log)
                self._mirrors[name] = RecordedMirror(each, self._write)
                self._tasks[name] = asyncio.create_task(self._mirrors[name].run())

    async def _stop(self, names: list[str]) -> None:
        tasks = [self._tasks.pop(name) for name in names]
        for task in tasks:
            task.cancel()
        for name, task in zip(names, tasks, strict=True):
            with contextlib.suppress(asyncio.CancelledError):
                await task
            self._mirrors.pop(name, None)
            log.info("%s is no longer recorded", name)
