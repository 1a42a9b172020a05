"""Requests and answers in frames: a length, a header, a message.

The header of a request has version 2 if its message is flexible, else 1; that of an answer 1 or 0,
except that ApiVersions is always answered with version 0.
"""

import struct
from dataclasses import dataclass

from tests.stand_in_quorum.wire import MalformedError, Reader, Writer

FETCH, METADATA, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 1, 3, 17, 18, 36
DESCRIBE_QUORUM, FETCH_SNAPSHOT, BROKER_REGISTRATION, BROKER_HEARTBEAT = 55, 59, 62, 63

NAMES = {
    FETCH: "Fetch",
    METADATA: "Metadata",
    SASL_HANDSHAKE: "SaslHandshake",
    API_VERSIONS: "ApiVersions",
    SASL_AUTHENTICATE: "SaslAuthenticate",
    DESCRIBE_QUORUM: "DescribeQuorum",
    FETCH_SNAPSHOT: "FetchSnapshot",
    BROKER_REGISTRATION: "BrokerRegistration",
    BROKER_HEARTBEAT: "BrokerHeartbeat",
}

FLEXIBLE_FROM = {
    FETCH: 12,
    METADATA: 9,
    SASL_HANDSHAKE: 2,  # never: its versions end at 1
    API_VERSIONS: 3,
    SASL_AUTHENTICATE: 2,
    DESCRIBE_QUORUM: 0,
    FETCH_SNAPSHOT: 0,
    BROKER_REGISTRATION: 0,
    BROKER_HEARTBEAT: 0,
}


@dataclass(frozen=True)
class Header:
    """What a request says before its message."""

    key: int
    version: int
    correlation_id: int
    client_id: str | None

    @property
    def is_flexible(self) -> bool:
        return self.version >= FLEXIBLE_FROM[self.key]

    def answer(self, message: bytes) -> bytes:
        """Return the frame that answers with `message`."""
        has_tags = self.is_flexible and self.key != API_VERSIONS
        body = struct.pack(">i", self.correlation_id) + b"\0" * has_tags + message
        return struct.pack(">i", len(body)) + body


def read_request(frame: bytes) -> tuple[Header, Reader]:
    """Return the header of a request and a reader at its message.

    Raises:
        MalformedError: The header cannot be read, or the key is none that is answered.
    """
    reader = Reader(frame, is_flexible=False)
    key, version, correlation_id = reader.int16(), reader.int16(), reader.int32()
    client_id = reader.string()  # in both versions of the header with a length of two bytes
    if key not in FLEXIBLE_FROM:
        raise MalformedError(f"no such request: {key}")
    header = Header(key, version, correlation_id, client_id)
    reader.is_flexible = header.is_flexible
    reader.tags()
    return header, reader


def writer(header: Header) -> Writer:
    return Writer(is_flexible=header.is_flexible)
