"""All commands that turn one state into another, as a list and as a bash script."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from replay.image.metadata import MetadataImage
from replay.kafka_commands.acls import acl_commands
from replay.kafka_commands.command import Command, NotSaid
from replay.kafka_commands.configs import config_commands, quota_commands, user_commands
from replay.kafka_commands.features import feature_commands, unsaid
from replay.kafka_commands.secrets import Secrets
from replay.kafka_commands.topics import topic_commands
from replay.name_patterns import name_matcher

Wanted = Callable[[str], bool]
"""Takes an object's name; returns True if commands for the object are wanted."""

_START = """#!/bin/bash
# {heading}
# Usage: BOOTSTRAP=HOST:PORT bash SCRIPT, with Kafka's bin directory in PATH.
set -euo pipefail
: "${{BOOTSTRAP:?set it to HOST:PORT of a broker}}"
"""


class Commands(msgspec.Struct, frozen=True, kw_only=True):
    """Commands in the order to run them, and remarks about changes without a command."""

    commands: Sequence[Command]
    not_said: Sequence[NotSaid]

    def __bool__(self) -> bool:
        return bool(self.commands or self.not_said)

    def script(self, heading: str) -> str:
        """Return a script for bash, with the remarks as comments."""
        return "".join(f"{line}\n" for _, line in self.lines(heading))

    def lines(self, heading: str) -> Iterator[tuple[str | None, str]]:
        """Yield each line of the script after its object; None: it is about no object alone."""
        deleted = [each.object for each in self.commands if "--delete" in each.arguments]
        if deleted:
            heading += f"\n# It deletes, with all data: {', '.join(deleted)}"
        for line in _START.format(heading=heading).splitlines():
            yield None, line
        for command in self.commands:
            yield command.object, command.line()
        for remark in self.not_said:
            yield remark.object, f"# not by command: {_one_line(remark)}"


def _one_line(each: NotSaid) -> str:
    return " ".join(f"{each.object}: {each.reason}".split())


def wanted_by(names: Iterable[str] | None) -> Wanted:
    """Return a predicate: true for objects that match a name or pattern; None matches all.

    A topic's name also matches its configs and partitions. Ids of topics are not looked up.
    """
    if names is None:
        return lambda _: True
    patterns = [each for name in names for each in _patterns(name)]
    matchers = [name_matcher(each, ()) for each in patterns]
    return lambda object_name: any(matches(object_name) for matches in matchers)


def _patterns(pattern: str) -> list[str]:
    kind, _, name = pattern.partition(":")
    patterns = [pattern, f"{pattern}#*"]
    if kind == "topic":
        patterns += [f"config:topic/{name}", f"config:topic/{name}#*", f"partition:{name}/*"]
    return patterns


def kafka_commands(
    before: MetadataImage, after: MetadataImage, *, show_secrets: bool, wanted: Wanted
) -> Commands:
    """Return the commands that turn `before` into `after`; objects are matched by name.

    Args:
        wanted: Selects the objects to include.
    """
    secrets = Secrets(show_secrets)
    said = [
        *feature_commands(before, after),
        *topic_commands(before, after, secrets),
        *config_commands(before, after, secrets),
        *quota_commands(before, after),
        *user_commands(before, after),
        *acl_commands(before, after),
        *unsaid(before, after),
    ]
    kept = [each for each in said if wanted(each.object)]
    return Commands(
        commands=[each for each in kept if isinstance(each, Command)],
        not_said=[each for each in kept if isinstance(each, NotSaid)],
    )
