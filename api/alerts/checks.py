"""The file of checks: conditions that should hold of a cluster, and receivers of alerts.

invariants = true                        # the default: also those of docs/invariants.md

[expect]                                 # names, and expressions that should be true
all-partitions-have-leaders = 'partitions.all(p, p.leader != -1)'

[alert]
command = ["/usr/local/bin/page", "--team", "kafka"]
webhook = "https://alerts.example.com/metalog"
authorization-file = "webhook.token"     # its content is the Authorization header
timeout-s = 10
"""

from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from api.toml_file import TomlTable, toml_file
from records.errors import RequestError
from replay.expressions.expression import Expression

_TIMEOUT_S_MAX = 300.0


class Receivers(msgspec.Struct, frozen=True, kw_only=True):
    """The receivers of alerts.

    Attributes:
        command: A program and its arguments; the alert is on its standard input.
        webhook: An http or https URL, to which the alert is posted.
        authorization_file: A file with the value of the header Authorization; read for each post.
        timeout_s: How long a receiver may take, in seconds.
    """

    command: tuple[str, ...] = ()
    webhook: str | None = None
    authorization_file: str | None = None
    timeout_s: float = 10.0


class Checks(msgspec.Struct, frozen=True, kw_only=True):
    """The checks of a log, and the receivers of its alerts.

    Attributes:
        expect: Conditions that should be true, by name.
        invariants: True if the invariants of docs/invariants.md are checked, too.
    """

    expect: dict[str, Expression] = {}
    invariants: bool = True
    receivers: Receivers = Receivers()


def read_checks(path: Path) -> Checks:
    """Read a file of checks.

    Raises:
        RequestError: INVALID_CONFIG, the file cannot be read, or has a mistake; names the line.
    """
    file = toml_file(path)
    file.check_keys(("invariants", "expect", "alert"))
    expect: dict[str, Expression] = {}
    table = file.table("expect")
    for name in table.values:
        expression = _expression(table, name)
        same = next((each for each, other in expect.items() if other.text == expression.text), None)
        if same is not None:
            raise table.error(f"is the same expression as {same!r}; remove one", name)
        expect[name] = expression
    invariants = file.value("invariants", bool) if "invariants" in file.values else True
    receivers = _receivers(file.table("alert"))
    return Checks(expect=expect, invariants=invariants, receivers=receivers)


def checks_of(texts: list[str]) -> Checks:
    """Return the checks given by --expect: one file of checks, or expressions that name themselves.

    Raises:
        RequestError: a text is neither a file nor an expression, or a file is given with others.
    """
    files = [text for text in texts if Path(text).is_file()]
    if files and len(texts) > 1:
        raise RequestError(
            "INVALID_REQUEST",
            f"{files[0]} is a file of checks, which must be the only --expect; leave the others "
            "out",
        )
    if files:
        return read_checks(Path(files[0]))
    return Checks(expect={text: _of_option(text) for text in texts})


def _of_option(text: str) -> Expression:
    try:
        return Expression(text)
    except RequestError as error:
        if text.isprintable() and " " not in text and text.endswith(".toml"):
            raise RequestError("INVALID_REQUEST", f"there is no file {text}") from error
        raise


def _expression(table: TomlTable, name: str) -> Expression:
    text = table.value(name, str)
    try:
        return Expression(text)
    except RequestError as error:
        raise table.error(str(error), name) from error


def _receivers(table: TomlTable) -> Receivers:
    found = table.read(Receivers)
    if any("\0" in word for word in found.command):
        raise table.error("an argument has a NUL character; remove it", "command")
    if found.webhook is not None:
        _check_url(table, found.webhook)
    if not 0 < found.timeout_s <= _TIMEOUT_S_MAX:
        raise table.error(f"must be from 0 to {_TIMEOUT_S_MAX:g} seconds", "timeout-s")
    if found.authorization_file is None:
        return found
    path = table.path.parent / found.authorization_file
    if not path.is_file():
        raise table.error(f"there is no file {path}", "authorization-file")
    return msgspec.structs.replace(found, authorization_file=str(path))


def _check_url(table: TomlTable, url: str) -> None:
    """Refuse a URL to which nothing can be posted; the error omits the URL, which may be secret.

    Raises:
        RequestError: INVALID_CONFIG.
    """
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole or not url.isascii() or not url.isprintable() or " " in url:
        raise table.error("write http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH", "webhook")
    if parts.username is not None:
        raise table.error("put user and password into authorization-file", "webhook")
