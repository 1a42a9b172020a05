"""Who asks for changes, and why: what blame has to show."""

from random import Random

from records.envelope import Origin

CONTROLLER = "User:controller"

_OPERATORS = ("User:alice", "User:bob", "User:carol", "User:deploy-bot")
_CLIENTS = {"User:deploy-bot": "deploy-pipeline"}
_SHELL = "metalog"


class People:
    """Gives requests their origins."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def anyone(self) -> str:
        """Return one of the operators."""
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
    """Return the origin of what a broker sends."""
    return Origin(principal=f"User:broker-{broker_id}", command=command)


def controller_origin(command: str, reason: str) -> Origin:
    """Return the origin of what the controller does on its own."""
    return Origin(principal=CONTROLLER, command=command, reason=reason)
