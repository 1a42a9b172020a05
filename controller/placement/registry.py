"""Registry of the placements: looks up a placement by its name."""

from collections.abc import Mapping

from controller.placement.balanced import BalancedPlacer
from controller.placement.classic import ClassicPlacer
from controller.placement.placer import Placer
from controller.placement.striped import StripedPlacer
from records.errors import RequestError

PLACERS: Mapping[str, Placer] = {
    "balanced": BalancedPlacer(),
    "striped": StripedPlacer(),
    "classic": ClassicPlacer(),
    "classic-rack-unaware": ClassicPlacer(rack_aware=False),
}


def placer_named(name: str) -> Placer:
    """Return the placement with this name.

    Raises:
        RequestError: INVALID_REQUEST, there is no such placement.
    """
    placer = PLACERS.get(name)
    if placer is None:
        raise RequestError(
            "INVALID_REQUEST", f"there is no placement {name!r}; choose {', '.join(PLACERS)}"
        )
    return placer


def name_of(placer: Placer) -> str | None:
    """Return the name of a placement; None if it is not registered."""
    for name, named in PLACERS.items():
        if type(named) is type(placer) and vars(named) == vars(placer):
            return name
    return None
