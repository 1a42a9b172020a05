"""One command of Kafka's tools, and what no command can say."""

import shlex
from collections.abc import Iterator, Sequence

import msgspec

BOOTSTRAP = ("--bootstrap-server", "$BOOTSTRAP")


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A command line, for the object that it makes, changes or removes.

    `arguments` are without the address, which a shell script takes from BOOTSTRAP. An argument that
    is the content of a file stands in `file`, and the command ends with its path.
    """

    object: str
    tool: str
    arguments: Sequence[str]
    file: str | None = None

    def line(self) -> str:
        """Return the command for bash."""
        words = [f"{self.tool}.sh", BOOTSTRAP[0], f'"{BOOTSTRAP[1]}"']
        words += [shlex.quote(each) for each in self.arguments]
        if self.file is not None:
            words.append(f"<(printf %s {shlex.quote(self.file)})")
        return " ".join(words)


class NotSaid(msgspec.Struct, frozen=True, kw_only=True):
    """An object, or part of one, that no command makes; `reason` says what to do instead."""

    object: str
    reason: str


Said = Iterator[Command | NotSaid]
"""What is to be done for a part of a state, in order."""
