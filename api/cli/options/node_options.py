"""Options of a process that takes part in a shared log."""

from typing import Annotated

from api.cli.options.option_groups import NODES
from api.cli.options.parameters import Option, bad_parameter

Shared = Annotated[
    str | None,
    Option(
        "--shared",
        metavar="URL",
        help="Take part in this shared log, of which LOG becomes a copy: "
        "postgresql://USER@HOST/DB or s3://bucket/prefix.",
        show_default=False,
        rich_help_panel=NODES,
    ),
]
NodeId = Annotated[
    int | None,
    Option(
        "--node",
        metavar="N",
        help="Id of this node, with --shared: each node has its own.",
        min=0,
        show_default=False,
        rich_help_panel=NODES,
    ),
]
LeaseMs = Annotated[
    int,
    Option(
        "--lease-ms",
        metavar="MS",
        help="Time without a sign of life from this node after which another node takes over.",
        min=500,
        rich_help_panel=NODES,
    ),
]
Advertise = Annotated[
    list[str] | None,
    Option(
        "--advertise",
        metavar="HOST|NAME=ADDRESS",
        help="Where clients reach this node: a host, or the address of a listener, such as "
        "kafka=10.0.0.2:9092; repeatable.",
        show_default=False,
        rich_help_panel=NODES,
    ),
]
OwnSettings = Annotated[
    bool,
    Option(
        "--own-settings",
        help="Lead with the settings of this command even if the last leader had others.",
        rich_help_panel=NODES,
    ),
]


def advertised(given: list[str], listening: dict[str, str | None]) -> dict[str, str]:
    """Return the addresses to advertise, by listener.

    Args:
        given: NAME=HOST:PORT for one listener; HOST for all, each with the port it listens on.
    """
    found: dict[str, str] = {}
    for each in given:
        name, is_named, address = each.partition("=")
        if not is_named:
            ports = {n: at.rpartition(":")[2] for n, at in listening.items() if at is not None}
            found |= {n: f"{each}:{port}" for n, port in ports.items() if port.isdigit()}
        elif name in listening and address:
            found[name] = address
        else:
            raise bad_parameter(
                f"{each!r} is no listener with an address; write a host, or kafka=HOST:PORT, "
                "http=HOST:PORT, socket=HOST:PORT",
                param_hint="--advertise",
            )
    return found
