"""The handshake: negotiates protocol version and schema, and compares cluster ids.

The positions of magic and version never change, so that all releases can recognise each other. The
client sends the oldest and the newest version it supports, and the schemas it can write, newest
first; the server chooses. Values are texts, because version 1 can read nothing else; unknown fields
are ignored.
"""

import struct

import msgspec

from api.socket import schemas
from api.socket.frames import FrameError, Kind, frame, unpack_texts
from records.errors import RequestError

VERSION = 2
OLDEST_VERSION = 1
_MAGIC = b"MLGS"
_HELLO = struct.Struct(">B4sB")
_WELCOME = struct.Struct(">BB")
_SEPARATOR = ","


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """A client's first frame.

    Attributes:
        version: The newest version that the client supports.
        oldest_version: The oldest version that the client supports.
        schema: The client's schema for a server of version 1, which ignores `schemas`.
        schemas: The schemas that the client can write, newest first; empty in version 1.
        cluster_id: The cluster expected; None means any.
        client_id: The client id.
        mechanism: The SASL mechanism of the login that follows; None: no login.
    """

    version: int = VERSION
    oldest_version: int = OLDEST_VERSION
    schema: str
    schemas: tuple[str, ...] = ()
    cluster_id: str | None = None
    client_id: str | None = None
    mechanism: str | None = None


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """The server's answer to a HELLO.

    Attributes:
        version: The chosen version.
        schema: The schema of the rows; None in version 1, whose rows have the schema in the HELLO.
        schemas: The schemas that the server reads, newest first; empty in version 1.
    """

    version: int = VERSION
    cluster_id: str
    schema: str | None = None
    schemas: tuple[str, ...] = ()


def hello_of_client(
    cluster_id: str | None = None, client_id: str | None = None, mechanism: str | None = None
) -> Hello:
    """Return the HELLO of a client of this release."""
    return Hello(
        schema=schemas.first_schema(),
        schemas=tuple(schemas.layouts()),
        cluster_id=cluster_id,
        client_id=client_id,
        mechanism=mechanism,
    )


def agree(hello: Hello, cluster_id: str) -> Welcome:
    """Choose protocol version and schema for a connection, and return the WELCOME.

    Raises:
        RequestError: UNSUPPORTED_VERSION, client and server have no version or no schema in common;
            or INCONSISTENT_CLUSTER_ID.
    """
    if hello.oldest_version > VERSION:
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"the client speaks versions {hello.oldest_version} to {hello.version} of the "
            f"protocol, the server {OLDEST_VERSION} to {VERSION}; upgrade the server",
        )
    written, read = hello.schemas or (hello.schema,), schemas.layouts()
    schema = next((schema for schema in written if schema in read), None)
    if schema is None:
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"the client's records have schema {' or '.join(written)}, the server reads "
            f"{' or '.join(read)}; use the same release on both sides",
        )
    if hello.cluster_id not in (None, cluster_id):
        raise RequestError(
            "INCONSISTENT_CLUSTER_ID",
            f"this server is of cluster {cluster_id}, but the client expects {hello.cluster_id}; "
            "check the address",
        )
    version = min(VERSION, hello.version)
    return Welcome(version=version, cluster_id=cluster_id, schema=schema, schemas=tuple(read))


def check_welcome(welcome: Welcome) -> None:
    """Check that the server chose a version and schema that the client offered.

    Raises:
        RequestError: UNSUPPORTED_VERSION.
    """
    if not OLDEST_VERSION <= welcome.version <= VERSION:
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"the server speaks version {welcome.version} of the protocol, this client "
            f"{OLDEST_VERSION} to {VERSION}",
        )
    if welcome.schema is not None and welcome.schema not in schemas.layouts():
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"the server wants records of schema {welcome.schema}, which was not offered",
        )


def encode_hello(hello: Hello) -> bytes:
    """Return a client's first frame."""
    head = _HELLO.pack(Kind.HELLO, _MAGIC, hello.version)
    body = {
        "schema": hello.schema,
        "cluster_id": hello.cluster_id,
        "oldest_version": str(hello.oldest_version),
        "schemas": _SEPARATOR.join(hello.schemas),
        "client_id": hello.client_id,
        "mechanism": hello.mechanism,
    }
    return frame(head, body)


def decode_hello(content: bytes) -> Hello:
    """Decode a client's first frame.

    Raises:
        FrameError: the frame is not a HELLO.
    """
    if len(content) < _HELLO.size or content[:5] != bytes([Kind.HELLO]) + _MAGIC:
        raise FrameError("the first frame is not a hello of this protocol")
    version = content[5]
    if version == 0:
        raise FrameError("the hello names version 0; the first version is 1")
    fields = unpack_texts(content[_HELLO.size :])
    schema = fields.get("schema")
    if schema is None:
        raise FrameError("the hello names no schema")
    return Hello(
        version=version,
        oldest_version=_oldest_version(fields.get("oldest_version"), version),
        schema=schema,
        schemas=_listed(fields.get("schemas")),
        cluster_id=fields.get("cluster_id"),
        client_id=fields.get("client_id"),
        mechanism=fields.get("mechanism"),
    )


def encode_welcome(welcome: Welcome) -> bytes:
    """Return the server's answer to a HELLO."""
    head = _WELCOME.pack(Kind.WELCOME, welcome.version)
    body = {
        "cluster_id": welcome.cluster_id,
        "schema": welcome.schema,
        "schemas": _SEPARATOR.join(welcome.schemas),
    }
    return frame(head, body)


def decode_welcome(content: bytes) -> Welcome:
    """Decode a server's answer to a HELLO.

    Raises:
        FrameError: the frame is not a WELCOME.
    """
    if len(content) < _WELCOME.size or content[0] != Kind.WELCOME:
        raise FrameError("the first frame is not a welcome of this protocol")
    fields = unpack_texts(content[_WELCOME.size :])
    cluster_id = fields.get("cluster_id")
    if cluster_id is None:
        raise FrameError("the welcome names no cluster")
    return Welcome(
        version=content[1],
        cluster_id=cluster_id,
        schema=fields.get("schema"),
        schemas=_listed(fields.get("schemas")),
    )


def _oldest_version(text: str | None, newest: int) -> int:
    """Return the oldest version that a client supports; clients of version 1 do not send it."""
    if text is None:
        return OLDEST_VERSION
    if not text.isdecimal() or not 0 < int(text) <= newest:
        raise FrameError(f"the hello names {text!r} as its oldest version and {newest} as newest")
    return int(text)


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(_SEPARATOR)) if text else ()
