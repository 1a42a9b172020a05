"""The commands that a log can name, as deciding anew needs them."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from controller.authorization.guard import Guard
from controller.decisions.context import Context
from controller.result import ControllerResult

Decide = Callable[[Context, Any], ControllerResult[Any]]


class Command(Protocol):
    """A decision, the type of its request, and the rights that it requires."""

    @property
    def name(self) -> str:
        """Name in the log."""

    @property
    def request(self) -> Any:
        """Type of the request."""

    @property
    def response(self) -> Any:
        """Type of the response."""

    @property
    def decide(self) -> Decide:
        """Takes the decision."""

    @property
    def guard(self) -> Guard:
        """The rights."""


Find = Callable[[str], Any]
"""Returns a command by name; raises RequestError if there is none."""


class Commands(msgspec.Struct, frozen=True):
    """All commands of clients and brokers, and how a transaction of several is decided.

    Attributes:
        all: By name.
        append: Name of the command that appends records; the log keeps them as rows only.
        transaction: Name of the command with several steps.
        transact: Decides one, given a way to find the commands of its steps.
    """

    all: Mapping[str, Any]
    append: str
    transaction: str
    transact: Callable[[Context, Any, Find], ControllerResult[Any]]
