"""The client: runs commands, asks questions, appends records, and subscribes to new records.

Requests and answers are the JSON documents that the service's HTTP API describes.
"""

import json
import random
import ssl
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.client import HTTPException, HTTPResponse
from typing import Any, TypeVar, cast
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request

from metalog_client.connections import CONNECT_TIMEOUT_S, opener
from metalog_client.errors import MetalogError
from metalog_client.nodes import Nodes

PATIENCE_S = 60.0
"""How long a request is repeated: a restarted service first loads its log."""

_READ_TIMEOUT_S = 60.0
"""Time without a received byte after which a connection is lost; streams send one every 15 s."""

_PAUSE_S_MIN, _PAUSE_S_MAX = 0.05, 2.0
_JSON, _LINES = "application/json", "application/x-ndjson"
_LOST = (OSError, HTTPException)
_CUT = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
_TLS_FAILED, _BEHIND = "TLS_FAILED", "OFFSET_NOT_AVAILABLE"

T = TypeVar("T")

Versions = Mapping[str, int | None]
"""Objects and the versions that they must have; None: the object must not exist."""


class Client:
    """A client of one service, which may have several nodes. Several threads may share a client.

    Attributes:
        last_offset: Offset of the last change that this client made; -1 before the first change.
            The answers to its questions always include this change.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """Create a client; nothing is sent yet.

        Args:
            url: URL of the service, such as `http://127.0.0.1:8080`. Several nodes of a service are
                written `http://HOST:PORT,HOST:PORT`: the client follows the one that leads.
            token: The bearer token, if the service requires one.
            tls: TLS settings for an `https` URL; None means the system's certificate authorities. A
                request fails immediately with TLS_FAILED if either side refuses the other's
                certificate.
            patience_s: For how long a request is repeated while the service does not answer, in
                seconds.

        Raises:
            ValueError: the URL begins neither with `http://` nor with `https://`.
        """
        self._nodes, self._opener, self._patience_s = Nodes(url), opener(tls), patience_s
        self._timeout_s = _READ_TIMEOUT_S
        if self._nodes.count > 1:  # nodes that hang must leave time for the others
            share_s = max(CONNECT_TIMEOUT_S, patience_s / (self._nodes.count + 1))
            self._timeout_s = min(_READ_TIMEOUT_S, share_s)
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.last_offset = -1

    def run(
        self,
        command: str,
        request: Mapping[str, Any],
        *,
        reason: str | None = None,
        request_id: str | None = None,
        expect: Versions | None = None,
    ) -> dict[str, Any]:
        """Run a command, such as `topics create`; return the answer once the change is committed.

        Args:
            request: The request as JSON.
            reason: The reason for the change, recorded in the log.
            request_id: Id under which the request takes effect only once; None means a new id.
            expect: Versions that objects must have for the change to be made.

        Raises:
            MetalogError: the request was refused, or no answer came in time.
        """
        body = json.dumps(request).encode()
        headers = _changing(_JSON, request_id, expect)
        answer = self._json(_path(command, reason=reason), headers, body)
        self._remember(answer.get("committed_at"))
        return answer

    def append(
        self,
        records: Iterable[Mapping[str, Any]],
        *,
        request_id: str | None = None,
        expected_end_offset: int | None = None,
        expect: Versions | None = None,
    ) -> dict[str, Any]:
        """Append records as one batch; return the batch's place in the log.

        Args:
            records: Each has the fields `type` and `data`.
            request_id: As in `run`.
            expected_end_offset: The append is refused if the log does not end at this offset.
            expect: As in `run`.

        Raises:
            MetalogError: as `run`.
        """
        body = b"".join(json.dumps(record).encode() + b"\n" for record in records)
        headers = _changing(_LINES, request_id, expect)
        path = _path("records append", expected_end_offset=expected_end_offset)
        place = self._json(path, headers, body)
        self._remember(place["last_offset"])
        return place

    def ask(self, question: str, **parameters: Any) -> Any:
        """Ask a question, such as `topics describe`; return the answer.

        Args:
            parameters: Parameters of the question, such as `at`. A list gives the parameter once
                for each item; a mapping is sent as JSON; `from_` stands for `from`. `min_offset` is
                `last_offset` unless it is given.

        Returns:
            The answer as JSON; a list for questions answered line by line, such as `history`; the
            page as text for `report`.

        Raises:
            MetalogError: as `run`.
        """
        named = {name.removesuffix("_"): value for name, value in parameters.items()}
        if self.last_offset >= 0:
            named.setdefault("min_offset", self.last_offset)
        return self._answered(_path(question, **named), {}, take=_document)

    def pages(self, question: str, limit: int, **parameters: Any) -> Iterator[Any]:
        """Ask a question whose answer is a list; yield the answer in pages of `limit` items.

        All pages are of one image, that of the first page, although the log grows meanwhile.

        Args:
            question: The question's name, such as `topics list` or `history`.
            parameters: As in `ask`.

        Raises:
            MetalogError: as `ask`. RESOURCE_GONE: the log does not hold this image any more; start
                again for a new list.
        """
        cursor = None
        while True:
            page = self.ask(question, limit=limit, cursor=cursor, **parameters)
            cursor = _next_cursor(page)
            yield page
            if cursor is None:
                return

    def subscribe(self, from_offset: int, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Yield the committed records from an offset on, then each new record, without end.

        Reconnects if the connection is lost, and continues after the last record yielded.

        Raises:
            MetalogError: the offset is before the kept history, the caller may not read the log, or
                the service was unavailable for too long.
        """
        headers: dict[str, str] = {}
        path = f"/v1/events?{_query({'from': from_offset, **parameters})}"
        while True:
            with self._answered(path, headers, take=_opened, timeout_s=_READ_TIMEOUT_S) as response:
                for event in _events(response):
                    if event.get("event") == "error":
                        problem = json.loads(event["data"])
                        raise MetalogError(problem["code"], problem["message"], outcome="nothing")
                    if event.get("event") == "record":
                        headers["Last-Event-ID"] = event["id"]
                        yield json.loads(event["data"])

    def _remember(self, offset: int | None) -> None:
        if offset is not None:
            self.last_offset = max(self.last_offset, offset)

    def _json(self, path: str, headers: dict[str, str], body: bytes) -> dict[str, Any]:
        return cast(dict[str, Any], self._answered(path, headers, body, take=_document))

    def _answered(
        self,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        take: Callable[[HTTPResponse], T],
        timeout_s: float | None = None,
    ) -> T:
        """Send a request; repeat it while the service is unavailable, and return the answer.

        Repeating is safe: questions change nothing, and changes have a request id. Of several
        nodes, each is asked once between two pauses.

        Args:
            take: Reads the answer from the HTTP response.
            timeout_s: Time without a received byte after which another node is asked.

        Raises:
            MetalogError: the request was refused, or no answer came in time.
        """
        deadline, pause_s = time.monotonic() + self._patience_s, _PAUSE_S_MIN
        problems: list[MetalogError] = []
        while True:
            node = self._nodes.first
            request = Request(node + path, body, {**self._headers, **headers})
            leader: str | None = None
            try:
                return take(self._opener.open(request, timeout=timeout_s or self._timeout_s))
            except HTTPError as error:
                problems.append(_problem(error))
                leader = error.headers["Location"]
            except _LOST as error:
                problems.append(_unanswered(error))
            if _may_repeat(problems[-1]):
                self._nodes.leave(node, leader)
            if self._is_final(problems) or time.monotonic() + pause_s > deadline:
                raise problems[-1] if body is None else _telling(problems)
            if len(problems) % self._nodes.count == 0:
                time.sleep(pause_s * random.uniform(0.5, 1))
                pause_s = min(2 * pause_s, _PAUSE_S_MAX)

    def _is_final(self, problems: list[MetalogError]) -> bool:
        """Return whether a request will get no other answer, here or elsewhere."""
        if problems[-1].code == _BEHIND:  # the others may be further on
            return [problem.code for problem in problems].count(_BEHIND) >= self._nodes.count
        return not _may_repeat(problems[-1])


def _may_repeat(problem: MetalogError) -> bool:
    """Return whether a node did not answer, or another one may answer otherwise."""
    unanswered = problem.status == 0 and problem.code != _TLS_FAILED
    return unanswered or problem.code == _BEHIND or problem.status in (307, 503)


def _telling(problems: list[MetalogError]) -> MetalogError:
    """Return the problem of a change that tells its outcome.

    An attempt without an answer may be committed, whatever the nodes asked after it say.
    """
    if problems[-1].outcome == "done":
        return problems[-1]
    return next((each for each in problems if each.outcome != "nothing"), problems[-1])


def _path(name: str, **parameters: Any) -> str:
    given = _query(parameters)
    return f"/v1/{name.replace(' ', '/')}" + (f"?{given}" if given else "")


def _query(parameters: Mapping[str, Any]) -> str:
    def text(value: Any) -> str:
        if isinstance(value, Mapping):
            return json.dumps(value)
        return str(value).lower() if isinstance(value, bool) else str(value)

    pairs = [
        (name, text(each))
        for name, value in parameters.items()
        if value is not None
        for each in (value if isinstance(value, list | tuple) else [value])
    ]
    return urlencode(pairs)


def _changing(media_type: str, request_id: str | None, expect: Versions | None) -> dict[str, str]:
    headers = {"Content-Type": media_type, "Idempotency-Key": request_id or str(uuid.uuid4())}
    if expect:
        tags = [
            f'"{quote(name, safe="/:@#")}={"absent" if version is None else version}"'
            for name, version in expect.items()
        ]
        headers["If-Match"] = ", ".join(tags)
    return headers


def _next_cursor(page: Any) -> str | None:
    """Remove the cursor of the next page from a page, and return it; None on the last page."""
    if not isinstance(page, list):
        return cast("str | None", page.pop("next"))
    has_next = bool(page) and set(page[-1]) == {"next"}
    return cast(str, page.pop()["next"]) if has_next else None


def _opened(response: HTTPResponse) -> HTTPResponse:
    return response


def _document(response: HTTPResponse) -> Any:
    with response:
        body = response.read()
    kind = response.headers.get_content_type()
    if kind == _JSON:
        return json.loads(body)
    return (
        _whole([json.loads(line) for line in body.splitlines()])
        if kind == _LINES
        else body.decode()
    )


def _events(stream: HTTPResponse) -> Iterator[dict[str, str]]:
    """Yield the events of a stream until the stream ends or is lost.

    Source: WHATWG HTML, 9.2.
    """
    event: dict[str, str] = {}
    try:
        for line in stream:
            if not line.endswith(b"\n"):
                return  # lost, maybe within a character
            name, _, value = line.decode().rstrip("\n").partition(":")
            if name:
                event[name] = value.removeprefix(" ")
            elif event and not line.startswith(b":"):
                yield event
                event = {}
    except _LOST:
        return


def _whole(lines: list[Any]) -> list[Any]:
    """Return the lines of an answer if it is complete.

    Raises:
        MetalogError: the last line is an error, so the answer is incomplete.
    """
    if lines and isinstance(lines[-1], dict) and set(lines[-1]) == {"error"}:
        error = lines[-1]["error"]
        raise MetalogError(error["code"], error["message"], outcome="nothing")
    return lines


def _problem(error: HTTPError) -> MetalogError:
    try:
        found = json.loads(error.read())
    except (ValueError, *_LOST):
        found = {}
    return MetalogError.of(error.code, found if isinstance(found, dict) else {})


def _unanswered(error: Exception) -> MetalogError:
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        words = f"{cause.verify_message}; give the authority of the service's certificate in `tls`"
        return MetalogError(_TLS_FAILED, f"its certificate: {words}", outcome="nothing")
    if isinstance(cause, ssl.SSLError) and not isinstance(cause, _CUT):
        words = f"{cause}; check the URL and the certificate in `tls`"
        return MetalogError(_TLS_FAILED, f"no connection: {words}")
    # urllib raises URLError only until the whole request is sent.
    outcome = "nothing" if isinstance(error, URLError) else "unknown"
    return MetalogError("UNAVAILABLE", f"no answer: {error}", outcome=outcome)
