"""Calls over HTTP, with httpx instead of a client of ours."""

import asyncio
from typing import Any

import httpx
import msgspec

from replay.image.configs import CLIENT_METRICS
from tests.torture.mixed_load.history import Call, Kind, Result
from tests.torture.mixed_load.recorded_calls import RecordedCalls
from tests.torture.mixed_load.ways_by_client import CONFIG, object_of

_PAUSE_S = 0.05
_RETRY = (503,)
_LINES = {"Content-Type": "application/x-ndjson"}


class Http:
    """Requests of one client, each change with an `Idempotency-Key`."""

    def __init__(self, url: str) -> None:
        self._client = httpx.AsyncClient(base_url=url, timeout=60)

    async def close(self) -> None:
        """Disconnect."""
        await self._client.aclose()

    async def write(self, recording: RecordedCalls) -> None:
        """Write a register."""
        register, token = recording.register(), recording.token()
        with recording.call("http", Kind.WRITE, registers=(register,), token=token) as call:
            _changed(call, await self._alter(register, token))

    async def read(self, recording: RecordedCalls) -> None:
        """Read a register."""
        await self._read(recording, recording.register())

    async def compare_and_write(self, recording: RecordedCalls) -> None:
        """Read a register, and write it if it still has the version of the ETag."""
        register, token = recording.register(), recording.token()
        seen = await self._read(recording, register)
        (version,) = seen.versions or (None,)
        with recording.call(
            "http If-Match",
            Kind.COMPARE_AND_WRITE,
            registers=(register,),
            token=token,
            expected=version,
        ) as call:
            tag = f'"{object_of(register)}={"absent" if version is None else version}"'
            _changed(call, await self._alter(register, token, tag))

    async def note(self, recording: RecordedCalls) -> None:
        """Append a note."""
        token = recording.token()
        with recording.call("http append", Kind.APPEND, token=token) as call:
            _placed(call, await self._append(token))

    async def note_at_the_end(self, recording: RecordedCalls) -> None:
        """Append a note if the log still ends at the last known end offset."""
        token, end = recording.token(), recording.next_end()
        way = "http append at"
        with recording.call(way, Kind.APPEND_AT, token=token, expected=end) as call:
            _placed(call, await self._append(token, expected_end_offset=end))

    async def _read(self, recording: RecordedCalls, register: str) -> Call:
        with recording.call("http question", Kind.READ, registers=(register,)) as call:
            response = await self._asked(
                "GET",
                "/v1/configs/describe",
                params={"resource_type": CLIENT_METRICS, "resource_name": register},
            )
            document = response.json()
            values = {each["name"]: each["value"] for each in document["configs"]}
            call.values = (int(values[CONFIG]) if CONFIG in values else None,)
            call.versions = (document["version"],)
        return call

    async def _alter(
        self, register: str, token: int, if_match: str | None = None
    ) -> httpx.Response:
        changes = [{"name": CONFIG, "value": str(token)}]
        resource = {
            "resource_type": CLIENT_METRICS,
            "resource_name": register,
            "changes": changes,
        }
        headers = {"Idempotency-Key": f"id-{token}"}
        if if_match is not None:
            headers["If-Match"] = if_match
        return await self._asked(
            "POST", "/v1/configs/alter", json={"resources": [resource]}, headers=headers
        )

    async def _append(self, token: int, **parameters: int) -> httpx.Response:
        note = {"at_offset": 0, "author": "mixed load", "text": str(token)}
        return await self._asked(
            "POST",
            "/v1/records/append",
            content=msgspec.json.encode({"type": "NoteRecord", "data": note}),
            headers={**_LINES, "Idempotency-Key": f"id-{token}"},
            params=parameters,
        )

    async def _asked(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send a request, and repeat it until it is answered."""
        while True:
            try:
                response = await self._client.request(method, path, **request)
            except httpx.TransportError:
                await asyncio.sleep(_PAUSE_S)
                continue
            if response.status_code not in _RETRY:
                assert response.status_code in (200, 412), response.text
                return response
            await asyncio.sleep(_PAUSE_S)


def _changed(call: Call, response: httpx.Response) -> None:
    document = response.json()
    if _is_refused(call, response, document):
        return
    call.end = document["committed_at"] + 1
    if document.get("versions"):
        versions = {each["object"]: each["version"] for each in document["versions"]}
        call.versions = tuple([versions.get(object_of(each)) for each in call.registers])


def _placed(call: Call, response: httpx.Response) -> None:
    document = response.json()
    if not _is_refused(call, response, document):
        call.base, call.end = document["first_offset"], document["last_offset"] + 1


def _is_refused(call: Call, response: httpx.Response, document: dict[str, Any]) -> bool:
    if response.status_code != 412:
        return False
    call.result = Result.REFUSED
    if call.registers:
        current = document["current"]
        call.versions = (None if current == "absent" else int(current),)
    return True
