"""Commands by the names used in a log, for re-deciding them."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from controller.decisions.context.context import Context
from controller.results.result import ControllerResult
from controller.rights.guard import Guard

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
        """The function that makes the decision."""

    @property
    def guard(self) -> Guard:
        """The rights that the command requires."""


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
