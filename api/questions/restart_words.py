"""Restarts of brokers and controllers, in words."""

from collections.abc import Sequence

from records.text import duration_text, time_text
from replay.incidents.restarts import NodeRestarts

_OFF_MS_MIN = 1_000
"""Minimum time off that is told."""

ON_PURPOSE = "controlled shutdown, on purpose"


def restart_text(each: NodeRestarts) -> str:
    """Return who restarted, how often and when, how the runs ended, and how long it was off."""
    who = node_names(each.nodes, is_broker=each.is_broker, is_all=each.is_all)
    together = " together" if len(each.nodes) > 1 else ""
    if each.times == 1:
        text = f"{who} restarted{together} at {time_text(each.from_time)}"
    else:
        least, most = duration_text(each.apart_ms_min), duration_text(each.apart_ms_max)
        every = f"{least} apart" if least == most else f"every {least} to {most}"
        text = (
            f"{who} restarted{together} {each.times:,} times from {time_text(each.from_time)} to "
            f"{time_text(each.to_time)}, {every}"
        )
    return f"{text}{_ended(each)}{_off(each)}"


def _ended(each: NodeRestarts) -> str:
    """Return how the runs before the restarts ended."""
    if not each.is_broker:
        return ""
    if each.clean == each.times:
        return f", {'' if each.times == 1 else 'each '}after a {ON_PURPOSE}"
    unknown = each.times - each.clean - each.unclean
    if each.times in (each.unclean, unknown):
        how = "without" if each.unclean else "not known if after"
        return f", {how} a controlled shutdown"
    parts = [
        f"{count:,} {how}"
        for count, how in (
            (each.clean, f"after a {ON_PURPOSE}"),
            (each.unclean, "without" if each.clean else "without a controlled shutdown"),
            (unknown, "not known"),
        )
        if count
    ]
    return f" ({', '.join(parts)})"


def _off(each: NodeRestarts) -> str:
    if each.off_ms_max < _OFF_MS_MIN:
        return ""
    # A node that was not shut down had been off before it was missed.
    off = "off" if each.clean == each.times else "off at least"
    longest = duration_text(each.off_ms_max)
    if each.times == 1:
        return f"; {off} {longest}"
    return f"; {off} {duration_text(each.off_ms)} in all, longest {longest}"


def node_names(nodes: Sequence[int], *, is_broker: bool, is_all: bool) -> str:
    """Return nodes in words, such as "all 3 brokers" or "controller 2"."""
    if is_all:
        return "the only broker" if len(nodes) == 1 else f"all {len(nodes):,} brokers"
    kind = "broker" if is_broker else "controller"
    return f"{kind}{'' if len(nodes) == 1 else 's'} {ids_text(nodes)}"


def ids_text(nodes: Sequence[int]) -> str:
    """Return ids in a row, such as "1, 2 and 3"."""
    *before, last = map(str, nodes)
    return f"{', '.join(before)} and {last}" if before else last
