"""Options of a command in a TOML file: the keys are the command's long options without dashes.

    log = "/var/lib/metalog"
    kafka = ["ssl://:9093"]
    http = "127.0.0.1:8080"

    [config]
    log.retention.ms = 86400000

The command line overrides the file. An error names the file and the line.
"""

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from typer import BadParameter

from api.cli.options.server_configs import check_server_config
from api.toml_file import line_of

_OPTION, _TABLE = "--config", "config"
_NOT_IN_FILES = ("config", "help")


class Given(NamedTuple):
    """Content of an options file: values by parameter, and server-level configs as NAME=VALUE."""

    values: dict[str, Any]
    configs: list[str]


def options_of_file(path: Path, command: Any, ctx: Any) -> Given:
    """Read a file of options.

    Args:
        command: The command that has these options.
        ctx: The context of the command line that is being parsed.

    Raises:
        BadParameter: the file cannot be read; or it has a key that is not an option, or a value
            that the option does not accept.
    """
    text = _text(path)
    document = _parsed(path, text)
    params = [param for param in command.get_params(ctx) if param.name not in _NOT_IN_FILES]
    parameters = {_key(param): param for param in params}
    values = {}
    for key, value in document.items():
        if key == _TABLE:
            continue
        with_place = _Place(path, text, (key,))
        if key not in parameters:
            raise with_place.error(_unknown(key, [*parameters, _TABLE]))
        values[parameters[key].name] = _value(parameters[key], ctx, value, with_place)
    return Given(values, list(_configs(command.name, document.get(_TABLE, {}), path, text)))


class _Place(NamedTuple):
    """The location of a key in an options file, for error messages."""

    path: Path
    text: str
    keys: tuple[str, ...]

    def error(self, message: str) -> BadParameter:
        """Return an error that gives the file, the line and the key."""
        where = f"{self.path}, line {line_of(self.text, self.keys)}: {'.'.join(self.keys)}: "
        return BadParameter(where + message, param_hint=_OPTION)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadParameter(
            f"{str(path)!r} is not NAME=VALUE, and there is no such file", param_hint=_OPTION
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadParameter(f"{path} cannot be read: {error}", param_hint=_OPTION) from error


def _parsed(path: Path, text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    # A ValueError also of a number that is too long; that of TOML is one.
    except (ValueError, RecursionError) as error:
        raise BadParameter(f"{path} is not TOML: {error}", param_hint=_OPTION) from error


def _key(param: Any) -> str:
    """Return the key for a parameter in a file: its longest option name, without dashes."""
    names: list[str] = param.opts
    return max(names, key=len).removeprefix("--")


def _unknown(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "see --help for the options"
    return f"there is no such option; {hint}"


def _value(param: Any, ctx: Any, value: Any, place: _Place) -> Any:
    """Return a value in the form in which the command line would give it.

    Raises:
        BadParameter: the option does not accept the value.
    """
    is_list = getattr(param, "multiple", False)
    items = value if is_list and isinstance(value, list) else [value]
    wanted = (bool,) if getattr(param, "is_flag", False) else (str, int)
    for item in items:
        if not isinstance(item, wanted) or (bool not in wanted and isinstance(item, bool)):
            raise place.error(f"{item!r} is not {_kind(param, is_list)}")
        if isinstance(item, str) and "\0" in item:
            raise place.error(f"{item!r} has a NUL character")
    given = [item if isinstance(item, bool) else str(item) for item in items]
    found = given if is_list else given[0]
    try:
        param.process_value(ctx, found)
    except BadParameter as error:
        raise place.error(error.message) from error
    return found


def _kind(param: Any, is_list: bool) -> str:
    if getattr(param, "is_flag", False):
        return "true or false"
    return "a string, or a list of strings" if is_list else "a string or a number"


def _configs(command: str, table: Any, path: Path, text: str) -> Iterator[str]:
    """Yield the server-level configs of a table as NAME=VALUE."""
    if not isinstance(table, dict):
        raise _Place(path, text, (_TABLE,)).error("is a table: write [config] before its lines")
    for keys, value in _leaves(table, (_TABLE,)):
        place = _Place(path, text, keys)
        if not isinstance(value, str | int | bool):
            raise place.error(f"{value!r} is not a string, a number, or true or false")
        name, written = ".".join(keys[1:]), str(value).lower() if isinstance(value, bool) else value
        try:
            check_server_config(command, name, str(written))
        except BadParameter as error:
            raise place.error(error.message) from error
        yield f"{name}={written}"


def _leaves(table: dict[str, Any], keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the keys and values of a table and of the nested tables made by dotted keys."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*keys, key))
        else:
            yield (*keys, key), value
