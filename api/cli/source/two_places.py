"""The arguments `diff LOG@P1 LOG2@P2`: two logs, each at a point."""

import re
from collections.abc import Sequence

OTHER = "--other"
_BACK = re.compile(r"-[0-9]+[a-z0-9]+")

SERVICES = ("kafka://", "socket://")


def with_other(args: Sequence[str], server_mark: str) -> list[str]:
    """Return `LOG@P1 LOG2@P2` as `LOG P1 P2 --other LOG2`; change other arguments only as needed.

    A point such as `-3h` gets a space in front; otherwise it would be taken for the option -h.

    Args:
        server_mark: Prefix that marks the argument LOG as the URL of a service.
    """
    args = [f" {arg}" if _BACK.fullmatch(arg) else arg for arg in args]
    places = [arg for arg in args if "@" in arg and not arg.startswith("-") and ":@" not in arg]
    if len(places) != 2 or args[:2] != places:
        return list(args)
    (log, _, before), (other, _, after) = (place.rpartition("@") for place in places)
    mark = server_mark if log.startswith(SERVICES) else ""
    return [mark + log, before, after, OTHER, other, *args[2:]]
