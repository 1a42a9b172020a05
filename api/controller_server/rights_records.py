"""The records that an authorizer reads, for brokers: ACLs, and the level of metadata.version."""

from collections.abc import Iterable, Iterator

import msgspec

from api.history import Change
from controller.decisions.levels import METADATA_VERSION
from records.base import Record
from records.configs import FeatureLevelRecord
from records.kafka.codec import encode_value
from records.security import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from replay.image.acls import Acl
from replay.image.metadata import MetadataImage

_VERSION = 0
"""Of all of these records."""


def all_rights(image: MetadataImage) -> tuple[bytes, ...]:
    """Return the records that make the authorizer's part of an image: O(ACLs)."""
    return _encoded([_level(image), *map(_added, image.acls())])


def changed_rights(change: Change) -> tuple[bytes, ...]:
    """Return the records that change the authorizer's part of an image: O(ACLs changed)."""
    return _encoded(_changes(change))


def _changes(change: Change) -> Iterator[Record]:
    if change.before.feature(METADATA_VERSION) != change.after.feature(METADATA_VERSION):
        yield _level(change.after)
    for acl_id in sorted(change.acl_ids):
        acl = change.after.acl(acl_id)
        if acl is not None:
            yield _added(acl)
        elif change.before.acl(acl_id) is not None:
            yield RemoveAccessControlEntryRecord(id=acl_id)


def _level(image: MetadataImage) -> FeatureLevelRecord:
    level = image.feature(METADATA_VERSION) or 0
    return FeatureLevelRecord(name=METADATA_VERSION, feature_level=level)


def _added(acl: Acl) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(**msgspec.structs.asdict(acl))


def _encoded(records: Iterable[Record]) -> tuple[bytes, ...]:
    return tuple([encode_value(record, _VERSION) for record in records])
