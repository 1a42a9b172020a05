"""What differs from one release of Kafka to the next, as far as a reader of the log notices."""

from dataclasses import dataclass

Versions = tuple[int, int]


@dataclass(frozen=True)
class Release:
    """A release: versions of the requests that it answers, and its rules.

    Attributes:
        names_endpoints: An answer to Fetch names the address of the leader (version 17 and later).
        snapshot_at_zero: Offset 0 is answered with a snapshot if there is one (KAFKA-15078).
        serves_bootstrap: The snapshot 0-0 that formatting wrote is served like another.
        diverges_at_once: Diverging epochs and snapshot ids do not wait (KAFKA-15100).
        high_watermark_wakes: Waiting fetches are answered when the high watermark moves (KIP-1166).
        honours_max_bytes: MaxBytes limits an answer, instead of the node's own limit.
    """

    name: str
    fetch: Versions
    fetch_snapshot: Versions
    describe_quorum: Versions
    api_versions: Versions
    metadata: Versions
    names_endpoints: bool
    snapshot_at_zero: bool
    serves_bootstrap: bool
    diverges_at_once: bool
    high_watermark_wakes: bool
    honours_max_bytes: bool


def _release(name: str, fetch: Versions) -> Release:
    number = tuple(int(part) for part in name.split("."))
    return Release(
        name,
        fetch=fetch,
        fetch_snapshot=(0, 1 if number >= (3, 9) else 0),
        describe_quorum=(0, 2 if number >= (3, 9) else 1 if number >= (3, 3) else 0),
        api_versions=(0, 4 if number >= (3, 9) else 3),
        metadata=(0, 13 if number >= (4, 0) else 12),
        names_endpoints=number >= (3, 9),
        snapshot_at_zero=number >= (3, 6),
        serves_bootstrap=number < (3, 9),
        diverges_at_once=number >= (3, 5),  # 3.5.2
        high_watermark_wakes=number >= (4, 1),
        honours_max_bytes=number >= (4, 3),
    )


RELEASES = {
    name: _release(name, fetch)
    for name, fetch in {
        "3.0": (0, 12),
        "3.3": (0, 13),
        "3.4": (0, 13),
        "3.5": (0, 15),
        "3.6": (0, 15),
        "3.7": (0, 16),
        "3.8": (0, 16),
        "3.9": (0, 17),
        "4.0": (4, 17),
        "4.1": (4, 18),
        "4.2": (4, 18),
        "4.3": (4, 18),
    }.items()
}
