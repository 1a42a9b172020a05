"""Operators and their reasons, as origins of requests, for the `blame` command to show."""

from random import Random

from records.envelope import Origin

CONTROLLER = "User:controller"

_OPERATORS = ("User:alice", "User:bob", "User:carol", "User:deploy-bot")
_CLIENTS = {"User:deploy-bot": "deploy-pipeline"}
_SHELL = "metalog"


class People:
    """Generator of operators and of the origins of their requests."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def anyone(self) -> str:
        """Return a random operator."""
        return self._rng.choice(_OPERATORS)

    def asks(self, command: str, reason: str, *, who: str | None = None) -> Origin:
        """Return the origin of an operator's request."""
        principal = who or self.anyone()
        return Origin(
            principal=principal,
            request_id=self._rng.randbytes(8).hex(),
            command=command,
            reason=reason,
            client=_CLIENTS.get(principal, _SHELL),
        )


def broker_origin(broker_id: int, command: str) -> Origin:
    """Return the origin of a broker's request."""
    return Origin(principal=f"User:broker-{broker_id}", command=command)


def controller_origin(command: str, reason: str) -> Origin:
    """Return the origin of a decision that the controller makes on its own."""
    return Origin(principal=CONTROLLER, command=command, reason=reason)
