"""Runs lines of the shell: splits them into words and pipes, and calls verbs or commands."""

import contextlib
import io
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence

from api.cli.main import run
from api.cli.options.query_options import ZONE
from api.cli.options.snapshot_database import DATABASE
from api.cli.shell.paths import place_at
from api.cli.shell.verbs import Shell
from api.cli.terminal.output import print_line
from records.errors import RequestError

OWN = ("ls", "cd", "pwd", "cat", "tree", "find", "at", "next", "prev")
"""Verbs of the shell itself."""

OF_OBJECTS = {"history": "--to", "blame": "--at", "why": "--at"}
"""Commands of `metalog` about the object of a path, and the option that takes the point."""

OF_LOGS = {"timeline": "--to", "outages": "--to", "dump": "--to", "du": "--at"}
"""Commands of `metalog` about the whole log."""

END = ("exit", "quit")

WORDS = (*OWN, *OF_OBJECTS, "diff", *OF_LOGS, "help", *END)
"""All words that can begin a line."""

_HELP = """\
  ls, cat, tree [PATH]       what is there: a folder, an object, everything below
  find [PATH] [GLOB] [FIELD=VALUE]...   objects by name or by fields, as leader=-1
  cd [PATH], pwd             go to a folder or an object
  at [POINT]                 move in time: an offset, a time, end-2h, end
  next, prev [PATH[#FIELD]]  move to the next change of an object, or the one before
  history, blame, why [PATH[#FIELD]]    as `metalog`, at the point
  diff P1 [P2]               what differs between points, of the object you are at
  timeline, outages, dump, du           as `metalog`, up to the point
  LINE | COMMAND             give what is printed to a command, as less or grep
  exit                       leave; Ctrl-D does, too"""


class CommandFailed(Exception):
    """A command ended with this exit code, and has already printed its error."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


def run_line(shell: Shell, line: str) -> None:
    """Run one line, with its pipe.

    Raises:
        RequestError: the line has an error, or an object in it does not exist.
        CommandFailed: a `metalog` command or the command after the pipe failed.
    """
    before, pipe, command = _cut_at_pipe(line)
    words = _words(before)
    if not words:
        return
    if not pipe:
        _run(shell, words)
        return
    printed, failed = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed):
            _run(shell, words)
    except CommandFailed as error:
        failed = error  # what it found, such as differences, is still printed
    sys.stdout.flush()
    ended = subprocess.run(command, shell=True, input=printed.getvalue(), text=True, check=False)
    if failed is not None:
        raise failed
    if ended.returncode:
        raise CommandFailed(ended.returncode)


def _run(shell: Shell, words: Sequence[str]) -> None:
    verb, *rest = words
    if verb in OWN:
        getattr(shell, verb)(rest)
    elif verb == "help":
        for line in _HELP.splitlines():
            print_line(line)
    elif verb in OF_OBJECTS:
        _run_metalog(shell, [verb, *_object_first(shell, rest)], OF_OBJECTS[verb])
    elif verb in OF_LOGS:
        _run_metalog(shell, [verb, *rest], OF_LOGS[verb])
    elif verb == "diff":
        _run_metalog(shell, ["diff", *_points(shell, rest)], None)
    else:
        raise RequestError("INVALID_REQUEST", f"there is no verb {verb}; `help` lists the verbs")


def _object_first(shell: Shell, words: Sequence[str]) -> list[str]:
    """Return the words of a command with an object's name as the first one.

    If the first word is a path, the name of the object at that path replaces the word. Otherwise,
    the name of the object in the current folder is put before the words.
    """
    has_path = bool(words) and not words[0].startswith("-")
    place = place_at(shell.folder, words[0] if has_path else ".")
    if place.object is None:
        raise RequestError("INVALID_REQUEST", f"{place.path} is no object; name one")
    return [place.object, *words[has_path:]]


def _points(shell: Shell, words: Sequence[str]) -> list[str]:
    count = sum(1 for word in words[:2] if not word.startswith("--"))
    if not count:
        raise RequestError("INVALID_REQUEST", "name a point to compare with: diff P1 [P2]")
    points = [*words[:count], shell.point][:2]
    here = place_at(shell.folder, ".").object
    only = [] if here is None or "--object" in words else ["--object", here]
    return [*points, *only, *words[count:]]


def _run_metalog(shell: Shell, words: Sequence[str], point_option: str | None) -> None:
    verb, *rest = words
    log, server = shell.source
    where = ["--server", str(server)] if log is None else [str(log)]
    arguments = [verb, *where, *rest]
    if point_option is not None and point_option not in rest:
        arguments += [point_option, shell.point]
    if shell.as_json and "--json" not in rest:
        arguments.append("--json")
    if shell.show_secrets and verb in ("history", "blame", "diff", "dump", "why"):
        arguments.append("--show-secrets")
    zone, database = ZONE.get(), DATABASE.get()
    if zone != "UTC":
        arguments += ["--time-zone", zone]
    if database is not None:
        arguments += ["--database", database]
    try:
        code = run(arguments)
    finally:
        ZONE.set(zone)
        DATABASE.set(database)
    if code:
        raise CommandFailed(code)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise RequestError("INVALID_REQUEST", f"{line.strip()}: {error}") from error


def _cut_at_pipe(line: str) -> tuple[str, str, str]:
    """Return the text before the first unquoted `|`, the `|` or "", and the text after it."""
    quote = ""
    for index, char in _unescaped(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "|":
            return line[:index], char, line[index + 1 :]
    return line, "", ""


def _unescaped(line: str) -> Iterator[tuple[int, str]]:
    is_escaped = False
    for index, char in enumerate(line):
        if not is_escaped and char != "\\":
            yield index, char
        is_escaped = char == "\\" and not is_escaped
