"""The arguments `diff LOG@P1 LOG2@P2`: two logs, each at a point."""

from collections.abc import Sequence

OTHER = "--other"
SERVICES = ("kafka://", "socket://")


def with_other(args: Sequence[str], server_mark: str) -> list[str]:
    """Return `LOG@P1 LOG2@P2` as `LOG P1 P2 --other LOG2`; return other arguments unchanged.

    Args:
        server_mark: Prefix that marks the argument LOG as the URL of a service.
    """
    places = [arg for arg in args if "@" in arg and not arg.startswith("-") and ":@" not in arg]
    if len(places) != 2 or args[:2] != places:
        return list(args)
    (log, _, before), (other, _, after) = (place.rpartition("@") for place in places)
    mark = server_mark if log.startswith(SERVICES) else ""
    return [mark + log, before, after, OTHER, other, *args[2:]]
