"""The campaigns, in the order in which they run."""

from tests.torture.campaign import Campaign
from tests.torture.campaigns import crashes

CAMPAIGNS: tuple[Campaign, ...] = (crashes,)


def find(name: str, campaigns: tuple[Campaign, ...] = CAMPAIGNS) -> Campaign:
    """Return the campaign of a name.

    Raises:
        KeyError: there is none.
    """
    return {campaign.NAME: campaign for campaign in campaigns}[name]
