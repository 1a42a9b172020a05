"""The results of campaigns, as a table or as one JSON document."""

import json
import statistics
from typing import Any

from tests.torture.campaign import Campaign
from tests.torture.tally import Tally

Results = list[tuple[Campaign, Tally]]


def table(results: Results) -> str:
    """Return one line per campaign, and below it each failure with the command that reproduces
    it.
    """
    width = max([len("test"), *(len(campaign.TEST) for campaign, _ in results)])
    lines = [
        f"{'test':<{width}} {'target':>10} {'done':>10} {'distinct':>10} {'seeds':>6} "
        f"{'failures':>8}"
    ]
    for campaign, tally in results:
        lines.append(
            f"{campaign.TEST:<{width}} {campaign.TARGET:>10,} {tally.done:>10,} "
            f"{tally.distinct:>10,} {len(tally.seeds):>6,} {tally.failure_count:>8,}"
            + ("" if tally.is_complete(campaign) else "  target not met yet")
        )
    for campaign, tally in results:
        lines += [f"{campaign.NAME}: {note}" for note in tally.notes]
        lines += [
            f"{campaign.NAME}: {name}, {len(found)} times: "
            f"median {statistics.median(found):.2f} s, worst {max(found):.2f} s"
            for name, found in tally.times_s.items()
        ]
    for campaign, tally in results:
        for failure in tally.failures:
            lines += [f"\n{campaign.NAME}: {failure.message}", f"  {failure.command}"]
    return "\n".join(lines)


def document(results: Results) -> str:
    """Return the same as JSON."""
    return json.dumps([_entry(campaign, tally) for campaign, tally in results], indent=2)


def _entry(campaign: Campaign, tally: Tally) -> dict[str, Any]:
    return {
        "campaign": campaign.NAME,
        "test": campaign.TEST,
        "target": campaign.TARGET,
        "done": tally.done,
        "distinct": tally.distinct,
        "seeds": len(tally.seeds),
        "cpu_seconds": round(tally.seconds, 1),
        "notes": tally.notes,
        "times_s": tally.times_s,
        "target_met": tally.is_complete(campaign),
        "failure_count": tally.failure_count,
        "failures": [
            {"message": failure.message, "command": failure.command} for failure in tally.failures
        ],
    }
