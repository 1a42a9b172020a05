"""Commands by the names used in a log, for re-deciding them."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from controller.decisions.context.context import Context
from controller.results.result import ControllerResult
from controller.rights.guard import Guard

Decide = Callable[[Context, Any], ControllerResult[Any]]


class Command(msgspec.Struct, frozen=True):
    """A decision, the types of its request and response, and the rights that it requires."""

    name: str
    request: Any
    response: Any
    decide: Decide
    guard: Guard
    in_turns: None = None


Find = Callable[[str], Any]
"""Returns a command by name; raises RequestError if there is none."""


class Commands(msgspec.Struct, frozen=True):
    """All commands of clients and brokers, and how to decide a transaction of several commands.

    Attributes:
        all: Commands by name.
        append: Name of the command that appends given records. Its logged request has no records;
            they are taken from the rows.
        transaction: Name of the command that runs several steps in a transaction.
        transact: Decides a transaction, given a function that finds the commands of its steps.
    """

    all: Mapping[str, Any]
    append: str
    transaction: str
    transact: Callable[[Context, Any, Find], ControllerResult[Any]]
