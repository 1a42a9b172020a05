"""TOML files of settings: errors name the file, the line and the key."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from records.errors import RequestError

T = TypeVar("T", bound=msgspec.Struct)


class TomlTable(NamedTuple):
    """A table of a TOML file, and where it is.

    Attributes:
        text: The whole file's text.
        keys: The keys that lead to the table; none for the file itself.
        values: Its values by key.
    """

    path: Path
    text: str
    keys: tuple[str, ...]
    values: Mapping[str, Any]

    def table(self, key: str) -> "TomlTable":
        """Return a table inside this one, empty if it is not there.

        Raises:
            RequestError: INVALID_CONFIG, the value is no table.
        """
        found = self.values.get(key, {})
        keys = (*self.keys, key)
        if not isinstance(found, dict):
            raise self.error(f"is a table: write [{'.'.join(keys)}] before its lines", key)
        return TomlTable(self.path, self.text, keys, found)

    def check_keys(self, known: Iterable[str]) -> None:
        """Refuse keys that are not known.

        Raises:
            RequestError: INVALID_CONFIG, with the known key that is most alike.
        """
        known = list(known)
        for key in self.values:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
                raise self.error(f"there is no such setting; {hint}", key)

    def read(self, kind: type[T], **more: Any) -> T:
        """Return the table as a structure, whose fields have underscores for the keys' dashes.

        Args:
            more: Fields that do not come from the file.

        Raises:
            RequestError: INVALID_CONFIG, a key is unknown or missing, or a value has another type.
        """
        fields = {
            field.name.replace("_", "-"): field
            for field in msgspec.structs.fields(kind)
            if field.name not in more
        }
        self.check_keys(fields)
        found = dict(more)
        for key, field in fields.items():
            if key in self.values:
                found[field.name] = self.value(key, field.type)
            elif field.required:
                raise self.error(f"{key!r} is missing")
        return kind(**found)

    def value(self, key: str, kind: Any) -> Any:
        """Return a value of a type; raises RequestError: INVALID_CONFIG, it is of another type."""
        try:
            return msgspec.convert(self.values[key], kind)
        except msgspec.ValidationError as error:
            what = str(error).replace("`", "").removesuffix(" - at $")
            raise self.error(what[0].lower() + what[1:], key) from error

    def error(self, message: str, key: str | None = None) -> RequestError:
        """Return an error about the table, or about one of its values."""
        keys = self.keys if key is None else (*self.keys, key)
        where = f"{self.path}, line {line_of(self.text, keys)}" if keys else str(self.path)
        name = f"{'.'.join(keys)}: " if keys else ""
        return RequestError("INVALID_CONFIG", f"{where}: {name}{message}")


def toml_file(path: Path) -> TomlTable:
    """Read a TOML file.

    Raises:
        RequestError: INVALID_CONFIG, it cannot be read, or is not TOML; names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise RequestError("INVALID_CONFIG", f"{path} cannot be read: {reason}") from error
    try:
        return TomlTable(path, text, (), tomllib.loads(text))
    # A ValueError also of a number that is too long; that of TOML is one.
    except (ValueError, RecursionError) as error:
        raise RequestError("INVALID_CONFIG", f"{path} is not TOML: {error}") from error


def line_of(text: str, keys: tuple[str, ...]) -> int:
    """Return the number of the line of a TOML text that defines a key, counted from 1.

    Parses ever longer beginnings of the text. The line follows the longest beginning that does not
    contain the key.
    """
    lines = text.splitlines(keepends=True)
    before = 0
    for count in range(len(lines)):
        try:
            found: Any = tomllib.loads("".join(lines[:count]))
        except (ValueError, RecursionError):
            continue
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if found is None:
            before = count
    return before + 1
