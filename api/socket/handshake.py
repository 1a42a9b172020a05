"""The first frame of each side: which protocol, which schema, which cluster.

The place of the magic and of the version never changes, so that releases can always tell each
other apart. The client names the newest version it speaks, the server answers with the one that
both speak.
"""

import functools
import hashlib
import json
import struct

import msgspec

from api.socket.frames import FrameError, Kind, frame, unpack_body
from records.avro import codec

VERSION = 1
_MAGIC = b"MLGS"
_HELLO = struct.Struct(">B4sB")
_WELCOME = struct.Struct(">BB")


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """How a client begins. `schema` must be the server's; `cluster_id` None is any."""

    version: int = VERSION
    schema: str
    cluster_id: str | None = None


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a server answers a hello."""

    version: int = VERSION
    cluster_id: str


@functools.cache
def schema_fingerprint() -> str:
    """Return what tells apart the schemas that rows are encoded with."""
    schema = json.dumps(codec.schema_of(codec.AS_APPENDED), separators=(",", ":"))
    return hashlib.sha256(schema.encode()).hexdigest()[:16]


def encode_hello(hello: Hello) -> bytes:
    """Return the frame that a client begins with."""
    head = _HELLO.pack(Kind.HELLO, _MAGIC, hello.version)
    return frame(head, {"schema": hello.schema, "cluster_id": hello.cluster_id})


def decode_hello(content: bytes) -> Hello:
    """Read the first frame of a client.

    Raises:
        FrameError: it is no hello.
    """
    if len(content) < _HELLO.size or content[:5] != bytes([Kind.HELLO]) + _MAGIC:
        raise FrameError("the first frame is no hello of this protocol")
    if content[5] == 0:
        raise FrameError("the hello names version 0; the first version is 1")
    fields = unpack_body(content[_HELLO.size :])
    schema = fields.get("schema")
    if schema is None:
        raise FrameError("the hello names no schema")
    return Hello(version=content[5], schema=schema, cluster_id=fields.get("cluster_id"))


def encode_welcome(welcome: Welcome) -> bytes:
    """Return the frame that a server answers a hello with."""
    head = _WELCOME.pack(Kind.WELCOME, welcome.version)
    return frame(head, {"cluster_id": welcome.cluster_id})


def decode_welcome(content: bytes) -> Welcome:
    """Read a server's answer to a hello.

    Raises:
        FrameError: it is no welcome.
    """
    if len(content) < _WELCOME.size or content[0] != Kind.WELCOME:
        raise FrameError("the first frame is no welcome of this protocol")
    cluster_id = unpack_body(content[_WELCOME.size :]).get("cluster_id")
    if cluster_id is None:
        raise FrameError("the welcome names no cluster")
    return Welcome(version=content[1], cluster_id=cluster_id)
