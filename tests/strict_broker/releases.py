"""What differs between the releases of Kafka whose brokers connect."""

from dataclasses import dataclass, field

Versions = tuple[int, int]

FETCH, SASL_HANDSHAKE, API_VERSIONS, FETCH_SNAPSHOT = 1, 17, 18, 59
BROKER_REGISTRATION, BROKER_HEARTBEAT = 62, 63
SASL_AUTHENTICATE = 36

_MIB = 1024 * 1024

# The newest version of each metadata record in 3.9, by its key; all begin at 0.
_RECORDS = {
    **dict.fromkeys([1, 2, 4, *range(7, 13), 14, 15, *range(18, 28)], 0),
    0: 3,
    3: 2,
    5: 2,
    17: 2,
}


@dataclass(frozen=True)
class Release:
    """A broker's release.

    Attributes:
        requests: The versions of each request that the broker can send.
        levels: The levels of metadata.version that it knows.
        features: The features that it supports beside metadata.version, from level 0.
        records: The newest version of each metadata record that it can decode, by key.
        needs_metadata_version: It exits if the log sets none; before, 3.0-IV1 was assumed.
        fetch_size_bytes: MaxBytes of its requests to Fetch.
        chunk_size_bytes: MaxBytes of its requests to FetchSnapshot.
    """

    name: str
    requests: dict[int, Versions]
    levels: Versions
    features: dict[str, int]
    records: dict[int, int] = field(default_factory=lambda: dict(_RECORDS))
    needs_metadata_version: bool = True
    fetch_size_bytes: int = 2**31 - 1
    chunk_size_bytes: int = 8 * _MIB


def _requests(fetch: Versions, *, api_versions: int = 4, heartbeat: int = 1) -> dict[int, Versions]:
    return {
        FETCH: fetch,
        API_VERSIONS: (0, api_versions),
        FETCH_SNAPSHOT: (0, 1),
        BROKER_REGISTRATION: (0, 4),
        BROKER_HEARTBEAT: (0, heartbeat),
    }


_OLD_FEATURES = {"kraft.version": 1}
_FEATURES = {
    **_OLD_FEATURES,
    "transaction.version": 2,
    "group.version": 1,
    "eligible.leader.replicas.version": 1,
}
_FEATURES_4_1 = {**_FEATURES, "share.version": 1, "streams.version": 1}
_CLEAR_ELR = {**_RECORDS, 28: 0}
_CORDONED = {**_CLEAR_ELR, 0: 4, 17: 3}

RELEASES = {
    release.name: release
    for release in (
        Release("3.9", _requests((0, 17)), (1, 21), _OLD_FEATURES, needs_metadata_version=False),
        Release("4.0", _requests((4, 17)), (7, 25), _FEATURES, _CLEAR_ELR),
        Release("4.1", _requests((4, 18)), (7, 27), _FEATURES_4_1, _CLEAR_ELR),
        Release("4.2", _requests((4, 18)), (7, 29), _FEATURES_4_1, _CLEAR_ELR),
        Release(
            "4.3",
            _requests((4, 18), heartbeat=2),
            (7, 30),
            _FEATURES_4_1,
            _CORDONED,
            fetch_size_bytes=_MIB,
            chunk_size_bytes=_MIB,
        ),
        # The next one asks with a version of ApiVersions that others do not know.
        Release(
            "trunk",
            _requests((4, 18), api_versions=5, heartbeat=2),
            (7, 33),
            _FEATURES_4_1,
            {**_CORDONED, 29: 0},
            fetch_size_bytes=_MIB,
            chunk_size_bytes=_MIB,
        ),
    )
}
