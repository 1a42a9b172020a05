"""Requests and responses of decisions as MessagePack, decoded by their types.

There are two forms. Over connections, a structure is a map from field names to values (`to_wire`,
`from_wire`). In the log, it is a list of its values in the order of the fields; trailing values
equal to their defaults are left out (`plain_of`, `from_log`). This form takes a third of the bytes.
It allows a field to be added at the end of a structure, with a default, but no field may move. Any
other change requires a new version of the command (`controller.asked.asked.VERSIONS`);
tests/golden/requests checks this.

MessagePack distinguishes text from bytes, which is how a topic's name differs from its id. Values
are decoded by their type annotations: structs, tuples, mappings, unions, enumerations and scalars.
"""

import enum
import functools
import typing
from collections.abc import Callable, Iterable, Mapping
from types import UnionType
from typing import Any, NamedTuple

import msgspec

from records.base import ZERO_UUID, Uuid
from records.errors import RequestError

ITEMS_MAX = 10_000
"""Maximum items of a list in a request, as many as a batch has records. Each item takes 10 to 40 us
in which no other request is decided."""

ALL_ITEMS_MAX = 10 * ITEMS_MAX
"""Maximum of all values inside a request, including nested ones such as a topic's configs."""


class _Form(NamedTuple):
    structure: type[dict[Any, Any]] | type[list[Any]]
    """The type of an encoded structure: map or list."""
    is_lenient: bool = False
    """True if unknown fields are ignored, False if they are refused."""


def to_wire(value: Any) -> bytes:
    """Encode a value in the form used over connections."""
    return msgspec.msgpack.encode(value)


def plain_of(
    value: Any, path: str, replaced: Callable[[Any, str], Any] = lambda value, _: value
) -> Any:
    """Return a value in the form of the log: maps, lists and scalars.

    Args:
        path: The value's own path of indexes and map keys; the paths of its parts start with it.
        replaced: Called with each value and its path, from the outside in; returns the value to
            use instead.
    """
    value = replaced(value, path)
    if isinstance(value, msgspec.Struct):
        return _positional(value, path, replaced)
    if isinstance(value, tuple | list):
        return [plain_of(item, f"{path}/{index}", replaced) for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {key: plain_of(item, f"{path}/{key}", replaced) for key, item in value.items()}
    return value.value if isinstance(value, enum.Enum) else value


def _positional(value: msgspec.Struct, path: str, replaced: Callable[[Any, str], Any]) -> list[Any]:
    fields = _defaults(type(value))
    found = [getattr(value, name) for name, _ in fields]
    while found and found[-1] == fields[len(found) - 1][1]:
        found.pop()
    return [plain_of(item, f"{path}/{index}", replaced) for index, item in enumerate(found)]


@functools.cache
def _defaults(cls: type[msgspec.Struct]) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a structure with their defaults; NODEFAULT for fields without one."""
    return tuple(
        (
            field.name,
            field.default
            if field.default_factory is msgspec.NODEFAULT
            else field.default_factory(),
        )
        for field in msgspec.structs.fields(cls)
    )


def from_wire(raw: bytes, as_type: Any, *, lenient: bool = False) -> Any:
    """Decode a value of a type from the form used over connections.

    Args:
        lenient: Ignore unknown fields of structures, which a later release's response may have.
            In a request they are refused, because they may change its meaning.

    Raises:
        RequestError: INVALID_REQUEST, the bytes are not a value of that type; the message gives
            the path to the wrong part.
    """
    return _read(_Form(dict, is_lenient=lenient), raw, as_type)


def from_log(raw: bytes, as_type: Any) -> Any:
    """Decode a value of a type from the form of the log; raises as `from_wire`."""
    return _read(_Form(list), raw, as_type)


def check_size(plain: Any) -> None:
    """Check that a request, as maps, lists and scalars, is small enough to be decided at once.

    Raises:
        RequestError: MESSAGE_TOO_LARGE, a list or map has more than ITEMS_MAX items, or all
            together have more than ALL_ITEMS_MAX.
    """
    left = ALL_ITEMS_MAX
    inside = [plain]
    while inside:
        value = inside.pop()
        if not isinstance(value, list | dict):
            continue
        left -= len(value)
        if len(value) > ITEMS_MAX or left < 0:
            raise RequestError(
                "MESSAGE_TOO_LARGE",
                f"a request has at most {ITEMS_MAX} items in a list and {ALL_ITEMS_MAX} values; "
                "send several requests",
            )
        inside.extend(value.values() if isinstance(value, dict) else value)


def _read(form: _Form, raw: bytes, as_type: Any) -> Any:
    try:
        plain = msgspec.msgpack.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError("INVALID_REQUEST", f"the bytes are not MessagePack: {error}") from error
    if form.structure is dict and not form.is_lenient:
        check_size(plain)
    return _built(form, plain, as_type, "value")


def _built(form: _Form, plain: Any, as_type: Any, place: str) -> Any:
    if type(plain) is as_type or as_type is Any:  # most values are scalars
        return plain
    if as_type is Uuid:
        return _id(plain, place)
    as_type, origin, arguments = _parts(as_type)
    if origin in (typing.Union, UnionType):
        return _built(form, plain, _branch(form, plain, arguments, place), place)
    if origin is tuple:
        return _tuple(form, plain, arguments, place)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(form, plain, arguments, place)
    if isinstance(as_type, type) and issubclass(as_type, msgspec.Struct):
        return _struct(form, plain, as_type, place)
    if isinstance(as_type, type) and issubclass(as_type, enum.Enum):
        try:
            return as_type(plain)
        except ValueError:
            raise _wrong(place, f"{plain!r} is no {as_type.__name__}") from None
    return _checked(plain, type(None) if as_type is None else as_type, place)


@functools.cache
def _parts(as_type: Any) -> tuple[Any, Any, tuple[Any, ...]]:
    """Return the type behind a NewType, its generic origin, and the type arguments."""
    as_type = getattr(as_type, "__supertype__", as_type)
    return as_type, typing.get_origin(as_type), typing.get_args(as_type)


def _branch(form: _Form, plain: Any, branches: tuple[Any, ...], place: str) -> Any:
    """Return the type in a union that a plain value belongs to.

    Values of different types of a union have different plain types, but for structures over
    connections: each has a required field that the others lack.
    """
    found = [branch for branch in branches if isinstance(plain, _plain_types(form, branch))]
    for branch in found:
        if len(found) == 1 or _required(branch) <= plain.keys():
            return branch
    names = " or ".join(getattr(branch, "__name__", str(branch)) for branch in branches)
    raise _wrong(place, f"{type(plain).__name__}, not {names}")


@functools.cache
def _required(cls: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(each.encode_name for each in msgspec.structs.fields(cls) if each.required)


@functools.cache
def _plain_types(form: _Form, as_type: Any) -> tuple[type[Any], ...]:
    as_type, origin, _ = _parts(as_type)
    if origin is tuple:
        return (list,)
    if origin is not None:
        return (dict,)
    if issubclass(as_type, msgspec.Struct):
        return (form.structure,)
    if issubclass(as_type, enum.Enum):
        return tuple({type(member.value) for member in as_type})
    return (int, float) if as_type is float else (as_type,)


def _id(plain: Any, place: str) -> Uuid:
    octets = _checked(plain, bytes, place)
    if len(octets) != len(ZERO_UUID):
        raise _wrong(place, f"{len(octets)} octets, not the {len(ZERO_UUID)} of an id")
    return Uuid(octets)


def _tuple(form: _Form, plain: Any, arguments: tuple[Any, ...], place: str) -> tuple[Any, ...]:
    items = _checked(plain, list, place)
    if len(arguments) == 2 and arguments[1] is ...:
        if set(map(type, items)) <= {arguments[0]}:
            return tuple(items)  # of scalars: each is what `_built` returns for it
        arguments = (arguments[0],) * len(items)
    if len(items) != len(arguments):
        raise _wrong(place, f"{len(items)} items, not {len(arguments)}")
    pairs = zip(items, arguments, strict=True)
    return tuple([_built(form, item, of, f"{place}[{i}]") for i, (item, of) in enumerate(pairs)])


def _mapping(form: _Form, plain: Any, arguments: tuple[Any, ...], place: str) -> dict[Any, Any]:
    key_type, value_type = arguments
    return {
        _built(form, key, key_type, place): _built(form, value, value_type, f"{place}[{key!r}]")
        for key, value in _checked(plain, dict, place).items()
    }


def _struct(form: _Form, plain: Any, cls: type[msgspec.Struct], place: str) -> Any:
    values = _by_name(form, plain, cls, place)
    fields = {}
    for field, as_type in _typed_fields(cls):
        key = field.encode_name if form.structure is dict else field.name
        if key in values:
            inner = f"{place}.{key}"
            fields[field.name] = _built(form, values.pop(key), as_type, inner)
        elif field.required:
            _refuse_unknown(form, values, cls, place)
            raise _wrong(place, f"the field {field.name} is missing")
    if values:
        _refuse_unknown(form, values, cls, place)
    return cls(**fields)


def _refuse_unknown(
    form: _Form, values: Iterable[str], cls: type[msgspec.Struct], place: str
) -> None:
    known = [
        field.encode_name if form.structure is dict else field.name
        for field, _ in _typed_fields(cls)
    ]
    unknown = [str(name) for name in values if name not in known]
    if unknown and not form.is_lenient:
        raise _wrong(
            place, f"{cls.__name__} has no {', '.join(unknown)}; its fields are {', '.join(known)}"
        )


@functools.cache
def _typed_fields(cls: type[msgspec.Struct]) -> tuple[tuple[msgspec.structs.FieldInfo, Any], ...]:
    """Return the fields of a structure with their resolved types."""
    # Resolving annotations takes longer than reading the values.
    hints = typing.get_type_hints(cls)
    return tuple((field, hints[field.name]) for field in msgspec.structs.fields(cls))


def _by_name(form: _Form, plain: Any, cls: type[msgspec.Struct], place: str) -> dict[str, Any]:
    names = cls.__struct_fields__
    _checked(plain, form.structure, place)
    if form.structure is dict:
        return dict(plain)
    if len(plain) > len(names):
        raise _wrong(place, f"{len(plain)} values, {cls.__name__} has {len(names)} fields")
    return dict(zip(names, plain, strict=False))


def _checked(plain: Any, as_type: Any, place: str) -> Any:
    """Return a plain value after checking its type.

    Unlike in Python, a bool is not a number; a whole number is accepted as a float.
    """
    if as_type is float and type(plain) is int:
        return float(plain)
    if not isinstance(plain, as_type) or (isinstance(plain, bool) and as_type is not bool):
        raise _wrong(place, f"{type(plain).__name__}, not {as_type.__name__}")
    return plain


def _wrong(place: str, what: str) -> RequestError:
    return RequestError("INVALID_REQUEST", f"{place}: {what}")
