"""The names of commands.

A command has the name of its verb on the command line. Three commands have an older name in logs;
earlier releases also used that name over HTTP and in clients, and it is still accepted everywhere.
"""

LOGGED_NAMES = {
    "configs set": "configs alter",
    "elect-leaders": "leaders elect",
    "namespaces move": "topics move",
}
"""For commands with another name in logs: the name in logs, by the name on the command line."""


def logged_name(name: str) -> str:
    """Return the name that logs use for a command, given either of its names.

    Rights, origins and the hashes of request ids use the name in logs, so that both names mean one
    command.
    """
    return LOGGED_NAMES.get(name, name)


UNASKED = frozenset(
    {
        *("register", "heartbeat", "alter partition", "assign directories"),
        *("producer ids allocate", "report deletions", "announce voter"),
        *("activate", "fence stale broker", "advance removals", "balance leaders"),
        *("elect unclean leaders", "remove expired tokens"),
    }
)
"""Commands in logs that no person gives: those of brokers, then what the controller does itself."""
