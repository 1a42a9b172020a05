"""The `topics adopt` command: creates topics that exist elsewhere, with their replicas."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from api.cli.admin.admin_client import AdminClient
from api.cli.admin.change import changing
from api.cli.admin.options import NamespaceOption, ValidateOnly
from api.cli.admin.texts import assignments, new_topic_name
from api.cli.admin.topics import app, created_item
from api.cli.options.parameters import Argument, bad_parameter
from records.text import parse_uuid

if TYPE_CHECKING:
    from controller.decisions.partitions.assignments import Assignment
    from records.base import Uuid

_Adopted = tuple[str, str, tuple["Assignment", ...], "Uuid | None"]
"""A topic: its namespace, its name there, the replicas of its partitions, and its id, if known."""


class _Znode(msgspec.Struct):
    """A topic's znode in a ZooKeeper cluster; `id` exists since version 3 of the format."""

    partitions: dict[str, list[int]]
    version: int = 1
    id: str | None = None


@changing(app)
def adopt(
    ask: AdminClient,
    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="File with a line for each topic, NAME 1:2,2:3 (the brokers of its partitions), "
            "or a JSON object of topic names and their ZooKeeper znodes.",
            show_default=False,
        ),
    ],
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Adopt topics that exist elsewhere, with their replicas; a topic without an id gets one."""
    from controller.decisions.topics.topics import CreateTopics, NewTopic

    try:
        text = file.read_text(encoding="utf-8")
        read = _from_json if text.lstrip().startswith("{") else _from_lines
        topics = tuple(
            [
                NewTopic(name=name, namespace=of_namespace, assignments=replicas, topic_id=topic_id)
                for of_namespace, name, replicas, topic_id in read(text, namespace)
            ]
        )
        if not topics:
            raise ValueError("no topic is named")
    except (ValueError, msgspec.DecodeError, typer.BadParameter) as error:
        raise bad_parameter(f"{file}: {error}", param_hint="FILE") from None
    request = CreateTopics(topics=topics, validate_only=validate_only)
    answer = ask.run("topics create", request)
    items = [created_item(result) for result in answer.response]
    return ask.report(answer, items, validate_only=validate_only)


def _from_lines(text: str, namespace: str) -> Iterator[_Adopted]:
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2:
            raise ValueError(f"line {number}: expected NAME and replicas such as 1:2,2:3")
        try:
            replicas = assignments(words[1])
        except typer.BadParameter as error:
            raise ValueError(f"line {number}: {error}") from None
        yield *new_topic_name(words[0], namespace), replicas, None


def _from_json(text: str, namespace: str) -> Iterator[_Adopted]:
    from controller.decisions.partitions.assignments import Assignment

    try:
        znodes = msgspec.json.decode(text, type=dict[str, _Znode])
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    for name, znode in znodes.items():
        if not znode.partitions:
            raise ValueError(f"topic {name!r} has no partition")
        replicas = tuple(
            [
                Assignment(_partition_id(name, number), tuple(brokers))
                for number, brokers in znode.partitions.items()
            ]
        )
        yield *new_topic_name(name, namespace), replicas, _topic_id(name, znode)


def _partition_id(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"topic {name!r}: {text!r} is not a partition's number")
    return int(text)


def _topic_id(name: str, znode: _Znode) -> "Uuid | None":
    try:
        return None if znode.id is None else parse_uuid(znode.id)
    except ValueError as error:
        raise ValueError(f"topic {name!r}: {error}") from None
