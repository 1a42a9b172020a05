"""Which requests a listener answers, their decoding, and what a guest must not send."""

from collections.abc import Iterator
from typing import Any

from tests.stand_in_quorum import answers
from tests.stand_in_quorum.connection import Encodes, Raw
from tests.stand_in_quorum.fetch import FetchAnswer, FetchRequest, read_fetch
from tests.stand_in_quorum.fetch_snapshot import (
    FetchSnapshotAnswer,
    FetchSnapshotRequest,
    read_fetch_snapshot,
)
from tests.stand_in_quorum.frames import (
    API_VERSIONS,
    DESCRIBE_QUORUM,
    FETCH,
    FETCH_SNAPSHOT,
    METADATA,
    NAMES,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Header,
)
from tests.stand_in_quorum.releases import Release, Versions
from tests.stand_in_quorum.wire import MalformedError, Reader

CLUSTER_AUTHORIZATION_FAILED = 31


def apis(release: Release, *, is_broker: bool, has_login: bool) -> dict[int, Versions]:
    """Return the requests that are answered, with their versions."""
    found = {
        API_VERSIONS: release.api_versions,
        DESCRIBE_QUORUM: release.describe_quorum,
        FETCH: release.fetch,
    }
    if has_login:
        found |= {SASL_HANDSHAKE: (0, 1), SASL_AUTHENTICATE: (0, 2)}
    if is_broker:
        return {**found, METADATA: release.metadata}
    return {**found, FETCH_SNAPSHOT: release.fetch_snapshot}


def decode(answered: dict[int, Versions], header: Header, reader: Reader) -> Any:
    """Return the request; None for a version of ApiVersions that is not known.

    Raises:
        MalformedError: It is not answered here, or has not the layout of its version.
    """
    if header.key not in answered:
        raise MalformedError(f"{NAMES[header.key]} is not answered here")
    low, high = answered[header.key]
    if not low <= header.version <= high:
        if header.key == API_VERSIONS:
            return None
        raise MalformedError(f"{NAMES[header.key]} {header.version} is not answered here")
    match header.key:
        case 1:
            return read_fetch(header, reader)
        case 59:
            return read_fetch_snapshot(header, reader)
        case 18:
            return answers.read_api_versions(header, reader)
        case 55:
            return answers.read_describe_quorum(reader)
        case _:
            return answers.read_metadata(header, reader)


def refused(header: Header) -> Encodes | None:
    """Return the answer without the right on the cluster; None if the request needs none."""
    match header.key:
        case 1:
            return FetchAnswer(top_error=CLUSTER_AUTHORIZATION_FAILED)
        case 59:
            return FetchSnapshotAnswer(top_error=CLUSTER_AUTHORIZATION_FAILED)
        case 55:
            return Raw(answers.refused_describe_quorum(header, CLUSTER_AUTHORIZATION_FAILED))
        case _:
            return None


def breaches(request: FetchRequest | FetchSnapshotRequest) -> Iterator[str]:
    """Yield what would touch the quorum, or load its leader."""
    if request.replica_id != -1:
        yield f"replica id {request.replica_id}"
    if isinstance(request, FetchRequest):
        for partition in (each for topic in request.topics for each in topic.partitions):
            if partition.high_watermark == -1:
                yield "a high watermark of -1 is answered at once for ever"
            if partition.last_fetched_epoch < 0:
                yield f"last fetched epoch {partition.last_fetched_epoch}"
