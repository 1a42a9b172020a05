"""The nouns: command groups such as `topics`, whose modules are imported on first use.

Declaring their options takes several hundred lines; `metalog --help` should not import them.
"""

import importlib
from typing import Any

import typer
from typer.main import get_group

from api.cli.app import app, need_command
from api.cli.parser.typer_app import App, Group

NOUNS: dict[str, tuple[tuple[str, ...], str]] = {
    "topics": (
        ("topics", "topic_alteration", "topic_adoption", "topic_lives"),
        "Create, list, describe, alter, delete and adopt topics.",
    ),
    "namespaces": (("namespaces",), "Create, list and delete namespaces; move topics."),
    "configs": (("configs",), "Change and explain configs of topics, brokers, the cluster."),
    "subscriptions": (("subscriptions",), "Register patterns of the topics that groups consume."),
    "notes": (("notes",), "Pin notes to offsets, and list them."),
    "brokers": (("brokers",), "List, describe, register, fence and unregister brokers."),
    "partitions": (("partitions",), "List and describe partitions; print their states."),
    "reassignments": (("reassignments",), "Move partitions to other brokers."),
    "users": (("users",), "Create, alter, list and delete SCRAM credentials."),
    "acls": (("acls",), "Create, list and delete ACLs; explain what they allow."),
    "tokens": (("tokens",), "Create, renew, expire and describe delegation tokens."),
    "quotas": (("quotas",), "Set, delete, describe and explain client quotas."),
    "features": (("features",), "Describe and change feature levels."),
}
"""Modules of `api.cli.admin`, the first of which creates the typer app; and the help text."""


class _Noun(Group):
    """A command group that imports its verbs on first use."""

    def list_commands(self, ctx: Any) -> list[str]:
        self._load()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        self._load()
        return super().get_command(ctx, cmd_name)

    def _load(self) -> None:
        if not self.commands:
            self.commands.update(get_group(verbs(str(self.name))).commands)


def verbs(noun: str) -> typer.Typer:
    """Import a noun's modules, and return its typer app with all verbs."""
    modules = [importlib.import_module(f"api.cli.admin.{module}") for module in NOUNS[noun][0]]
    found: typer.Typer = modules[0].app
    return found


def _add(noun: str, help_: str) -> None:
    group = App(
        name=noun, help=help_, cls=_Noun, invoke_without_command=True, callback=need_command
    )
    app.add_typer(group)


for _noun, (_, _help) in NOUNS.items():
    _add(_noun, _help)
