"""Commands of Kafka's tools, and remarks about objects that no command can create."""

import shlex
from collections.abc import Iterator, Sequence

import msgspec

BOOTSTRAP = ("--bootstrap-server", "$BOOTSTRAP")


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A command line that creates, changes or removes an object.

    `arguments` exclude the bootstrap server, which a shell script takes from the variable
    BOOTSTRAP. `file`, if set, is the content of a file whose path becomes the last argument.
    """

    object: str
    tool: str
    arguments: Sequence[str]
    file: str | None = None

    def line(self) -> str:
        """Return the command as one line for bash."""
        words = [f"{self.tool}.sh", BOOTSTRAP[0], f'"{BOOTSTRAP[1]}"']
        words += [_quoted(each) for each in self.arguments]
        if self.file is not None:
            words.append(f"<(printf %s {_quoted(self.file)})")
        return " ".join(words)


def _quoted(word: str) -> str:
    """Return a word as bash reads it; bytes that a terminal might obey are escaped."""
    if word.isprintable():
        return shlex.quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _escaped(char: str) -> str:
    if char in "'\\":
        return f"\\{char}"
    return char if char.isprintable() else "".join(f"\\x{byte:02x}" for byte in char.encode())


class NotSaid(msgspec.Struct, frozen=True, kw_only=True):
    """A remark: an object, or part of one, that no command can create; `reason` explains why."""

    object: str
    reason: str


Said = Iterator[Command | NotSaid]
"""Commands and remarks for one part of a state, in the order to run the commands."""
