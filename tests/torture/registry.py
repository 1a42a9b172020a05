"""All campaigns, in the order in which they run."""

from tests.torture.campaign import Campaign
from tests.torture.campaigns import (
    clients,
    controller,
    corruption,
    crashes,
    exhaustive,
    frames,
    io_errors,
    killed_nodes,
    kills,
    mirrors,
    mixed_load,
    model,
    network,
    nodes,
    nodes_power,
    planted_bugs,
    recovery,
    starts,
    streams,
)

CAMPAIGNS: tuple[Campaign, ...] = (
    crashes,
    recovery,
    mirrors,
    nodes_power,
    exhaustive,
    io_errors,
    corruption,
    model,
    planted_bugs,
    controller,
    nodes,
    network,
    frames,
    starts,
    kills,
    killed_nodes,
    mixed_load,
    clients,
    streams,
)


def find(name: str, campaigns: tuple[Campaign, ...] = CAMPAIGNS) -> Campaign:
    """Return the campaign with a name.

    Raises:
        KeyError: there is none.
    """
    return {campaign.NAME: campaign for campaign in campaigns}[name]
