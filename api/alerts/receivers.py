"""Receivers of notifications: a printed line, a command, a webhook."""

import asyncio
import os
import signal
import ssl
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from api.alerts.checks import Receivers
from api.alerts.notification import Notification
from records.errors import MetadataLogError, UnavailableError

_CHARACTERS_MAX = 200
"""Length of a receiver's answer that an error quotes."""


class Receiver(Protocol):
    """A receiver of notifications."""

    async def send(self, told: Notification) -> None:
        """Send a notification; may be cancelled when it takes too long.

        Raises:
            UnavailableError: the notification was not accepted; send it again.
            OSError: the receiver cannot be reached; send it again.
        """
        ...


class Printed:
    """Writes each notification as a line."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    async def send(self, told: Notification) -> None:
        self._write(told.line())


class Command:
    """Runs a program, with the notification on its standard input.

    Names in a log may contain anything. None of them is ever part of the command line or of the
    environment, where a shell could take it for something else.
    """

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words

    async def send(self, told: Notification) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            env={
                **os.environ,
                "METALOG_ALERT_ID": told.id,
                "METALOG_ALERT_STATUS": told.status,
            },
            start_new_session=True,
        )
        try:
            await process.communicate(f"{told.line()}\n".encode())
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode:
            raise UnavailableError(f"{self._words[0]} ended with exit code {process.returncode}")


class Webhook:
    """Posts the notification as JSON; an answer of 200 to 299 means that it was accepted.

    Errors name the host only: paths of webhooks are often secret.
    """

    def __init__(self, url: str, authorization_file: str | None) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._is_tls = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port or (443 if self._is_tls else 80)
        self._netloc = parts.netloc
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._authorization = Path(authorization_file) if authorization_file else None

    async def send(self, told: Notification) -> None:
        tls = ssl.create_default_context() if self._is_tls else None
        reader, writer = await asyncio.open_connection(self._host, self._port, ssl=tls)
        try:
            writer.write(self._request(told))
            await writer.drain()
            status = (await reader.readuntil(b"\n")).decode("latin-1").strip()
        except (EOFError, ConnectionError, asyncio.LimitOverrunError) as error:
            raise UnavailableError(f"{self._netloc} did not answer in HTTP") from error
        finally:
            # Not waited for: nothing of the connection is used again.
            writer.transport.abort()
        words = status.split(" ", 2)
        if not words[0].startswith("HTTP/1.") or not words[1:] or not words[1].startswith("2"):
            raise UnavailableError(f"{self._netloc} answered {status[:_CHARACTERS_MAX]!r}")

    def _request(self, told: Notification) -> bytes:
        body = told.line().encode()
        head = [
            f"POST {self._path} HTTP/1.1",
            f"Host: {self._netloc}",
            f"User-Agent: metalog/{version('metadata-log')}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            f"Idempotency-Key: {told.delivery_id}",
            "Connection: close",
        ]
        if self._authorization is not None:
            # The first line only: more would be headers of its own.
            value = self._authorization.read_text(encoding="latin-1").partition("\n")[0].strip()
            head.append(f"Authorization: {value}")
        return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def receivers_of(settings: Receivers, write: Callable[[str], None]) -> dict[str, Receiver]:
    """Return the receivers by the names that they have in the file of checks.

    Args:
        write: Writes a line of output.
    """
    found: dict[str, Receiver] = {"output": Printed(write)}
    if settings.command:
        found["command"] = Command(settings.command)
    if settings.webhook is not None:
        found["webhook"] = Webhook(settings.webhook, settings.authorization_file)
    return found


TROUBLES = (MetadataLogError, OSError)
"""Errors that sending raises."""
