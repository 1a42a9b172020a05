"""The script of commands of Kafka's tools that creates a state, or turns one into another."""

import msgspec

from api.questions.past import Past
from api.questions.question import Computed, Question
from metadata_log.reader.log_reader import LogReader
from replay.image.metadata import MetadataImage
from replay.kafka_commands.script import Commands, kafka_commands, wanted_by
from replay.time_travel.history import absence
from replay.time_travel.objects import in_topic, label_in, parse_object


class ShowScript(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the script that creates a state; `only`: only an object, such as topic:orders.

    `since`: the script turns the state at this point into that state.
    """

    only: str | None = None
    since: str | None = None
    show_secrets: bool = False


class ScriptLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a script for bash, and the object that it is about.

    A line about something that no command can make is a comment. `object` is None for the lines at
    the script's begin.
    """

    line: str
    object: str | None = None


def script_shown(past: Past, at: int, request: ShowScript) -> Computed:
    """Return the script's lines.

    Raises:
        RequestError: `only` names an object that is in neither state; the code and the reason are
            those of `absence`.
    """
    since = None if request.since is None else past.offset(request.since)
    before = MetadataImage.EMPTY if since is None else past.image(since)
    after = past.image(at)
    found = commands_between(
        past.reader, before, after, at, request.only, show_secrets=request.show_secrets
    )
    lines = [
        ScriptLine(line=line, object=object_) for object_, line in found.lines(heading(since, at))
    ]
    return Computed(items=lines, about=lambda: past.about_image(after, at))


SCRIPT = Question(name="export commands", request=ShowScript, item=ScriptLine, tell=script_shown)


def heading(since: int | None, at: int) -> str:
    """Return what a script does, given the offsets of the states."""
    if since is None:
        return f"The metadata as of offset {at}"
    return f"From the metadata as of offset {since} to that of offset {at}"


def commands_between(
    reader: LogReader,
    before: MetadataImage,
    after: MetadataImage,
    at: int,
    only: str | None,
    *,
    show_secrets: bool,
) -> Commands:
    """Return the commands that turn `before` into `after`, the state at an offset.

    Raises:
        RequestError: as `script_shown`.
    """
    # Each state names an object that is given by its id.
    named = None if only is None else [label_in(only, image) for image in (before, after)]
    wanted = wanted_by(None if named is None else {each for each in named if each is not None})
    found = kafka_commands(before, after, show_secrets=show_secrets, wanted=wanted)
    if only is not None and not found:
        _check_known(reader, only, before, after, at)
    return found


def _check_known(
    reader: LogReader, only: str, before: MetadataImage, after: MetadataImage, at: int
) -> None:
    of = in_topic(only)
    if "*" not in only:
        name = parse_object(only)
    elif of is not None and of.is_by_id:
        name = parse_object(f"{of.kind}:{of.ref}")
    else:
        return
    if name.key(before) is None and name.key(after) is None:
        raise absence(reader, name, at, None)
