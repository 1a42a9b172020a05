"""The OpenAPI document, made from the tables of questions and commands and from their types."""

import typing
from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from api.documents.document import Document
from api.documents.errors import Error
from api.documents.logs import Place
from api.http import events, first_look, growth, web_page
from api.http.commands import APPEND, EXPECTED_END, Appended
from api.http.known_log import KnownLog
from api.http.paging import CURSOR, LIMIT, MIN_OFFSET, NextPage, is_paged
from api.http.parameters import Parameter, fields_of
from api.http.problems import MEDIA_TYPE, Problem
from api.http.questions import HTML, LINES, ROUTES, Route, path_of
from api.http.request import COUNT_MAX, JSON
from api.http.schemas import Schema, Schemas
from api.questions.joint import JOINT_QUESTIONS
from api.questions.table import EXAMPLES, QUESTIONS
from api.requests.commands import COMMANDS, find_command
from api.requests.json_requests import (
    branches,
    request_class,
    typed_fields,
)
from api.requests.record_lines import EXAMPLE
from api.requests.transactions import StepDone, Transacted
from controller.results.changed_versions import ObjectVersion
from records.command_names import LOGGED_NAMES, logged_name

PATH = "/openapi.json"

_PROBLEMS = (400, 401, 403, 404, 405, 409, 410, 412, 413, 415, 421, 422, 429, 501, 503)
"""Statuses of problems. 500 is left out: a bug of the service, which no client can handle."""

_HEADERS = {
    307: ("Location", "The same request at the node that leads."),
    401: ("WWW-Authenticate", "Bearer"),
    405: ("Allow", "The methods of this path."),
    429: ("Retry-After", "Seconds after which the request may succeed."),
    503: ("Retry-After", "Seconds after which the request may succeed."),
}
"""The header that comes with a status, and what it says."""


@cache
def openapi(*, is_read_only: bool = False) -> bytes:
    """Return the document as JSON; without the commands if the server is read-only."""
    schemas = Schemas()
    paths: dict[str, Any] = {
        path: {"get": _asked(route, schemas)} for path, route in ROUTES.items()
    }
    for name in () if is_read_only else (*COMMANDS, *LOGGED_NAMES):
        operation = _append(schemas) if name == APPEND else _changed(name, schemas)
        operation["responses"]["307"] = _problem(307, schemas)
        paths.setdefault(path_of(name), {})["post"] = operation
    paths[events.PATH] = {
        "get": _streamed(
            "events", "Committed records as they come.", events.PARAMETERS, (), schemas
        )
    }
    paths[web_page.COLUMNS_PATH] = {"get": _columns(schemas)}
    paths[first_look.PATH] = {"get": _known(schemas)}
    paths[growth.PATH] = {
        "get": _streamed(
            "report growth",
            "What is new in columns, as it comes.",
            growth.PARAMETERS,
            growth.HELD,
            schemas,
        )
    }
    for path, (text, content) in _OTHERS.items():
        paths[path] = {"get": _operation(path[1:], text, content, schemas)}
    for path, methods in paths.items():
        if "get" in methods and path not in (events.PATH, growth.PATH):
            methods["head"] = _head(methods["get"])
    return _document(paths, schemas)


@cache
def joint_openapi() -> bytes:
    """Return the document of the questions about several logs as JSON."""
    schemas = Schemas()
    return _document(
        {path_of(name): {"get": _joint(name, schemas)} for name in JOINT_QUESTIONS}, schemas
    )


def _joint(name: str, schemas: Schemas) -> Schema:
    asked = JOINT_QUESTIONS[name]
    content = {JSON: {"schema": {"allOf": [schemas.of(Place), schemas.of(asked.document)]}}}
    parameters = [_parameter(each, name, schemas) for each in fields_of(asked.request)]
    return _operation(name, asked.answer, content, schemas) | {"parameters": parameters}


def _document(paths: Schema, schemas: Schemas) -> bytes:
    document = {
        "openapi": "3.1.0",
        "info": {"title": "metalog", "version": "1", "summary": "A metadata log service."},
        "security": [{}, {"bearer": []}],
        "tags": [{"name": name} for name in _tags(paths)],
        "paths": paths,
        "components": {
            "schemas": schemas.found,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
    return msgspec.json.encode(document)


_TEXT: Schema = {"type": "string"}
_STATUS: Schema = {
    JSON: {"schema": {"type": "object", "properties": {"status": _TEXT}, "required": ["status"]}}
}
_OTHERS: dict[str, tuple[str, Schema]] = {
    "/health": ("200 while the process runs.", _STATUS),
    "/ready": ("200 once the log is loaded and this process writes it.", _STATUS),
    "/metrics": ("Metrics in Prometheus' form.", {"text/plain": {"schema": _TEXT}}),
}


def _tags(paths: Schema) -> list[str]:
    """Return the tags of all operations, each once."""
    operations = [of for methods in paths.values() for of in methods.values()]
    return sorted({tag for of in operations for tag in of["tags"]})


def _asked(route: Route, schemas: Schemas) -> Schema:
    name = route.question.name
    document = route.document
    content: Schema
    if document is None:
        content = {HTML: {"schema": {"type": "string"}}}
    elif document.is_stream:
        content = {LINES: {"schema": {"type": "string"}}}
    else:
        # Generators read one object of several forms, not a place together with several forms.
        forms = [_placed(document, of, schemas) for of in branches(document.type)]
        content = {JSON: {"schema": forms[0] if len(forms) == 1 else {"anyOf": forms}}}
    found = _operation(name, QUESTIONS[name].answer, content, schemas)
    if text := _first_line(route.request):
        found["description"] = text
    flags = [_flag(flag) for flag in route.flags]
    found["parameters"] = [*[_parameter(p, name, schemas) for p in route.parameters], *flags]
    return found


def _placed(document: Document, of: Any, schemas: Schemas) -> Schema:
    """Return the schema of an answer of this type; with its position in the log if it has one."""
    parts = [schemas.of(Place)] if document.has_place else []
    if of is not dict:
        parts.append(schemas.of(of))
    if is_paged(document):
        parts.append(schemas.of(NextPage))
    return {"allOf": parts} if parts else {"type": "object"}


def _streamed(
    name: str,
    text: str,
    parameters: Iterable[Parameter],
    flags: tuple[str, ...],
    schemas: Schemas,
) -> Schema:
    """Return the operation of a stream of events."""
    found = _operation(name, text, {events.MEDIA_TYPE: {"schema": _TEXT}}, schemas)
    found["parameters"] = [
        *[_parameter(p, name, schemas) for p in parameters],
        *map(_flag, ("as", *flags)),
        _header("Last-Event-ID", "The last offset that was received."),
    ]
    return found


def _columns(schemas: Schemas) -> Schema:
    name = "report columns"
    content: Schema = {web_page.BYTES: {}}
    found = _operation(name, "What the web page draws (docs/report.md).", content, schemas)
    found["responses"]["304"] = {"description": "The columns of If-None-Match are the newest."}
    found["parameters"] = [
        *[_parameter(p, name, schemas) for p in web_page.PARAMETERS],
        _flag("as"),
        _header("If-None-Match", "The ETag of an earlier answer."),
    ]
    return found


def _known(schemas: Schemas) -> Schema:
    name = "report known"
    content: Schema = {JSON: {"schema": schemas.of(KnownLog | None)}}
    text = "What is known of the log at once, until the columns are there."
    return _operation(name, text, content, schemas) | {"parameters": [_flag("as")]}


def _changed(name: str, schemas: Schemas) -> Schema:
    response_type = find_command(name).response
    response = {"description": "Always null."}
    if response_type not in (None, type(None)):
        response = schemas.of(response_type)
    results = {"type": "array", "items": _result(response_type, schemas)}
    versions = {"type": ["array", "null"], "items": schemas.of(ObjectVersion)}
    content = {
        JSON: {
            "schema": {
                "type": "object",
                "properties": {
                    "as_of": {"type": "integer"},
                    "log_end": {"type": "integer"},
                    "committed_at": {"type": ["integer", "null"]},
                    "validated_only": {"type": "boolean"},
                    "versions": versions,
                    "results": results,
                    "response": response | {"deprecated": True},
                },
                "required": ["as_of", "log_end", "committed_at", "versions", "results", "response"],
            }
        }
    }
    request = request_class(name)
    found = _operation(name, _first_line(request), content, schemas)
    if name in LOGGED_NAMES.values():
        found["deprecated"] = True
    found["parameters"] = _common()
    body = {"schema": schemas.of(request), "example": find_command(logged_name(name)).example}
    found["requestBody"] = {"required": True, "content": {JSON: body}}
    return found


def _result(response: Any, schemas: Schemas) -> Schema:
    """Return the schema of one result of a command, from the type of the response."""
    if response is Transacted:
        response = StepDone
    of = next(iter(typing.get_args(response)), response)
    fields = typed_fields(of) if isinstance(of, type) and issubclass(of, msgspec.Struct) else ()
    own = {f.encode_name: schemas.field(f, hint) for f, hint in fields if f.name != "refusal"}
    error = {"anyOf": [schemas.of(Error), {"type": "null"}]}
    return {"type": "object", "properties": own | {"error": error}, "required": ["error"]}


def _append(schemas: Schemas) -> Schema:
    content = {JSON: {"schema": schemas.of(Appended)}}
    found = _operation(APPEND, "Append records, one a line, as one batch.", content, schemas)
    end = {"name": EXPECTED_END, "in": "query", "schema": {"type": "integer", "minimum": 0}}
    found["parameters"] = [*_common(), end]
    body = {"schema": {"type": "string"}, "example": EXAMPLE}
    found["requestBody"] = {"required": True, "content": {LINES: body}}
    return found


def _operation(name: str, text: str, content: Schema, schemas: Schemas) -> Schema:
    return {
        "operationId": name.replace(" ", "_").replace("-", "_"),
        "tags": [name.partition(" ")[0]],
        "summary": text,
        "responses": {
            "200": {"description": "Done.", "content": content},
            **{str(status): _problem(status, schemas) for status in _PROBLEMS},
        },
    }


def _head(get: Schema) -> Schema:
    """Return the HEAD operation for a GET operation: the same answer without content."""
    responses = {
        status: {name: of for name, of in response.items() if name != "content"}
        for status, response in get["responses"].items()
    }
    summary = f"The headers of: {get['summary']}"
    found = {"operationId": f"head_{get['operationId']}", "summary": summary}
    return {**get, **found, "responses": responses}


def _problem(status: int, schemas: Schemas) -> Schema:
    found: Schema = {
        "description": "See docs/http.md.",
        "content": {MEDIA_TYPE: {"schema": schemas.of(Problem)}},
    }
    if status in _HEADERS:
        name, text = _HEADERS[status]
        found["headers"] = {name: {"description": text, "schema": {"type": "string"}}}
    return found


def _common() -> list[Schema]:
    return [
        _flag("as"),
        {"name": "reason", "in": "query", "schema": {"type": "string"}},
        _header("Idempotency-Key", "The request id: it is carried out once."),
        _header("If-Match", 'Versions that objects must have: "topic:orders=17".'),
        _header("traceparent", "The trace that it belongs to."),
    ]


def _header(name: str, text: str) -> Schema:
    return {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}


_OFFSET: Schema = {"type": "integer", "minimum": 0}
_FLAGS: dict[str, Schema] = {
    "as": {"type": "string"},
    MIN_OFFSET: _OFFSET,
    LIMIT: {"type": "integer", "minimum": 1, "maximum": COUNT_MAX},
    CURSOR: {"type": "string"},
    growth.KNOWN: _OFFSET,
    growth.COLUMNS: {"type": "string"},
}


_DESCRIPTIONS = {
    LIMIT: "Maximum of items in the answer; without it, the whole list.",
    CURSOR: "The `next` of the page before.",
}


def _flag(name: str) -> Schema:
    schema = _FLAGS.get(name, {"type": "boolean"})
    found = {"name": name, "in": "query", "schema": schema}
    return found | ({"description": _DESCRIPTIONS[name]} if name in _DESCRIPTIONS else {})


def _parameter(parameter: Parameter, operation: str, schemas: Schemas) -> Schema:
    required = parameter.default is msgspec.NODEFAULT
    # A structure is a JSON text.
    of = {"type": "string"} if parameter.is_json else schemas.of(_without_none(parameter.type))
    schema = {"type": "array", "items": of} if parameter.is_repeated else of
    found: Schema = {"name": parameter.name, "in": "query", "required": required}
    if parameter.is_json:
        found["description"] = "JSON"
    found["schema"] = schema
    own = QUESTIONS[operation].example if operation in QUESTIONS else {}
    if parameter.name in own:
        found["example"] = own[parameter.name]
    elif required:
        found["example"] = EXAMPLES[parameter.name]
    return found


def _without_none(hint: Any) -> Any:
    found = branches(hint)
    return str if len(found) > 1 else found[0]


def _first_line(cls: Any) -> str:
    text = (getattr(cls, "__doc__", "") or "").strip().partition("\n")[0]
    return text if isinstance(cls, type) and issubclass(cls, msgspec.Struct) else ""
