"""A client of the HTTP interface with the same methods as the clients of the other interfaces."""

import typing
from types import SimpleNamespace
from typing import Any

import httpx
import msgspec

from api.documents.logs import Place
from api.http.commands import APPEND
from api.http.questions import COMMON, LINES, ROUTES, path_of
from api.requests.commands import COMMANDS, named
from api.requests.json_requests import json_value, request_class, request_from_json
from controller.raw_appends.raw_append import AppendRows
from controller.results.answer import Answer
from records.errors import RequestError
from records.json import to_json

_PLACE = {field.encode_name for field in msgspec.structs.fields(Place)}


class HttpClient:
    """Runs commands, and the questions that the other clients run as commands."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def run(
        self, command: Any, request: Any = None, *, principal: str | None = None
    ) -> Answer[Any]:
        """Same as `CommandClient.run`.

        Raises:
            RequestError: the whole request is refused.
        """
        if not isinstance(command, str):
            command, request = named(command)
        cls = request_class(command)
        if not isinstance(request, msgspec.Struct):
            (field,) = cls.__struct_fields__
            request = cls(**{field: request})
        common = {} if principal is None else {"as": principal}
        async with httpx.AsyncClient(base_url=self._url, timeout=30, verify=False) as http:
            if command not in COMMANDS:
                query = [*common.items(), *parameters(command, request)]
                return _described(await http.get(path_of(command), params=query))
            if command == APPEND:
                body, form = _lines(request), LINES
            else:
                body = msgspec.json.encode(json_value(request, cls))
                form = "application/json"
            headers = {"Content-Type": form}
            response = await http.post(
                path_of(command), content=body, params=common, headers=headers
            )
        return _changed(response, command)


def parameters(question: str, request: Any) -> list[tuple[str, Any]]:
    """Return the query parameters for a question's request."""
    found = []
    fields = json_value(request, type(request))
    for parameter in ROUTES[path_of(question)].parameters:
        value = None if parameter.field is None else fields[parameter.field]
        if value is None:
            continue
        for one in value if parameter.is_repeated else [value]:
            as_json = parameter.is_json or isinstance(one, bool)
            found.append((parameter.name, msgspec.json.encode(one).decode() if as_json else one))
    assert not {name for name, _ in found} & set(COMMON)
    return found


def _lines(request: AppendRows) -> bytes:
    records = request.plain_rows().records
    lines = [{"type": type(each).__name__, "data": to_json(each)} for each in records]
    return b"\n".join(map(msgspec.json.encode, lines))


def _changed(response: httpx.Response, command: str) -> Answer[Any]:
    told = response.json()
    of = COMMANDS[command].response
    if response.status_code == 200 and command == APPEND:
        return Answer(None, told["last_offset"] + 1)
    if response.status_code == 200:
        return Answer(request_from_json(told["response"], of), told["log_end"])
    if "results" not in told:
        raise RequestError(told["code"], told["detail"])
    for result in told["results"]:
        del result["error"]  # in place of `refusal`, which the other clients have
    is_list = typing.get_origin(of) is tuple
    return Answer(request_from_json(told["results"] if is_list else told["results"][0], of), -1)


def _described(response: httpx.Response) -> Answer[Any]:
    told = response.json()
    if response.status_code != 200:
        raise RequestError(told["code"], told["detail"])
    end = told["log_end"]
    fields = {name: value for name, value in told.items() if name not in _PLACE}
    if "errors" in fields:
        refused = [SimpleNamespace(**error) for error in fields["errors"]]
        items = [SimpleNamespace(refusal=None) for _ in fields["topics"]]
        return Answer((*items, *[SimpleNamespace(refusal=each) for each in refused]), end)
    lists = [value for value in fields.values() if isinstance(value, list)]
    if len(lists) != 1:
        return Answer(SimpleNamespace(**fields), end)
    return Answer(tuple([SimpleNamespace(**item) for item in lists[0]]), end)
