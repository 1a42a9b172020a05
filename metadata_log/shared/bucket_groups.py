"""Groups of batches as objects of a bucket: their names, and their bytes.

An object is a header of HEADER_SIZE bytes, and behind it the entries as MessagePack; a claim is the
header alone.
"""

import struct

import google_crc32c
import msgspec

from metadata_log.shared.shared_log import GROUP_SIZE_BYTES_MAX, Entry, Group
from records.errors import CorruptLogError

GROUPS = "groups/"

_MAGIC = b"MLG1"

# Magic, number, epoch, nonce, end offset, CRC-32C of the last block, CRC-32C of what follows.
_HEADER = struct.Struct(">4sQQ16sQII")

HEADER_SIZE = _HEADER.size


def group_name(number: int) -> str:
    """Return the name of a group's object; for -1, a name that sorts before those of all groups."""
    return f"{GROUPS}{number:020d}" if number >= 0 else GROUPS


def encoded(group: Group) -> bytes:
    """Return a group as the content of its object."""
    entries = msgspec.msgpack.encode(group.entries) if group.entries else b""
    assert len(entries) <= GROUP_SIZE_BYTES_MAX
    header = _HEADER.pack(
        _MAGIC,
        group.number,
        group.epoch,
        group.nonce,
        group.end_offset,
        group.crc32c,
        google_crc32c.value(entries),
    )
    return header + entries


def header_of(content: bytes | None, number: int) -> Group:
    """Return a group without its entries, from the first bytes of its object.

    Raises:
        CorruptLogError: the object is not one that a release of this format wrote.
    """
    content = content or b""
    if len(content) < HEADER_SIZE or not content.startswith(_MAGIC):
        raise CorruptLogError(f"{group_name(number)} is not a batch group of a shared log")
    _, found, epoch, nonce, end_offset, crc32c, _ = _HEADER.unpack_from(content)
    if found != number:
        raise CorruptLogError(f"{group_name(number)} holds batch group {found}")
    return Group(number=found, epoch=epoch, nonce=nonce, end_offset=end_offset, crc32c=crc32c)


def decoded(content: bytes, number: int) -> Group:
    """Return the group of a whole object.

    Raises:
        CorruptLogError: the object is damaged, or is another group's.
    """
    group = header_of(content, number)
    entries = content[HEADER_SIZE:]
    if google_crc32c.value(entries) != _HEADER.unpack_from(content)[-1]:
        raise CorruptLogError(f"{group_name(number)}: the content does not match its checksum")
    if not entries:
        return group
    blocks = msgspec.msgpack.decode(entries, type=tuple[Entry, ...])
    return msgspec.structs.replace(group, entries=blocks)
