"""JSON form of a script with commands of Kafka's tools."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec

from api.questions.kafka_script import ScriptLine
from replay.kafka_commands.command import NotSaid
from replay.kafka_commands.script import Commands


class WrittenCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command, and the object that it creates, changes or removes."""

    object: str
    line: str


class CommandsExport(msgspec.Struct, frozen=True, kw_only=True):
    """The script's file, its commands, and the settings that no command can make."""

    file: str
    commands: Sequence[WrittenCommand]
    not_by_command: Sequence[NotSaid]

    @classmethod
    def of(cls, file: Path, found: Commands) -> Self:
        """Return the JSON form of a script's commands."""
        return cls(
            file=str(file),
            commands=[WrittenCommand(object=c.object, line=c.line()) for c in found.commands],
            not_by_command=found.not_said,
        )


class ScriptLines(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a script, in order."""

    lines: Sequence[ScriptLine]
