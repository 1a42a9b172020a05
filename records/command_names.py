"""The names of commands.

A command has the name of its verb on the command line. Logs hold three of them under another name,
which earlier releases also used over HTTP and in clients; it still works everywhere.
"""

LOGGED_NAMES = {
    "configs set": "configs alter",
    "elect-leaders": "leaders elect",
    "namespaces move": "topics move",
}
"""The name in logs of each command that has another one there."""


def logged_name(name: str) -> str:
    """Return the name under which a log holds the command of this name.

    Rights, origins and the hashes of request ids use it, so that both names mean one command.
    """
    return LOGGED_NAMES.get(name, name)
