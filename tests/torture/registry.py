"""The campaigns, in the order in which they run."""

from tests.torture.campaign import Campaign
from tests.torture.campaigns import crashes, exhaustive, io_errors, model, recovery

CAMPAIGNS: tuple[Campaign, ...] = (crashes, recovery, exhaustive, io_errors, model)


def find(name: str, campaigns: tuple[Campaign, ...] = CAMPAIGNS) -> Campaign:
    """Return the campaign of a name.

    Raises:
        KeyError: there is none.
    """
    return {campaign.NAME: campaign for campaign in campaigns}[name]
