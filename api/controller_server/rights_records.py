"""Encoded records sent to brokers for their authorizer and ApiVersions: ACLs and feature levels.

A broker with SASL also gets the records for authenticating users: credentials and delegation
tokens.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from api.service.history import Change
from records.base import Record
from records.configs import FeatureLevelRecord
from records.kafka.codec import encode_value
from records.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from replay.image.acls import Acl
from replay.image.fields import copied
from replay.image.metadata import MetadataImage

_VERSION = 0
"""Version of all these records."""


def all_rights(image: MetadataImage, *, with_users: bool = False) -> tuple[bytes, ...]:
    """Return records that create an image's ACLs and feature levels, and its users if requested.

    Takes O(ACLs), plus O(users) if `with_users`.
    """
    users = _user_changes(MetadataImage.EMPTY, image) if with_users else ()
    return _encoded([*_levels({}, image.features()), *map(_added, image.acls()), *users])


def changed_rights(change: Change, *, with_users: bool = False) -> tuple[bytes, ...]:
    """Return records for the changed ACLs and feature levels, and for users if requested.

    Takes O(ACLs changed), plus O(users) if any user has changed.
    """
    users = _user_changes(change.before, change.after) if with_users else ()
    return _encoded([*_changes(change), *users])


def _user_changes(before: MetadataImage, after: MetadataImage) -> Iterator[Record]:
    if before.has_users_of(after):
        return
    for credential in after.scram():
        if before.scram_credential(credential.name, credential.mechanism) != credential:
            yield copied(credential, UserScramCredentialRecord)
    for gone in before.scram():
        if after.scram_credential(gone.name, gone.mechanism) is None:
            yield RemoveUserScramCredentialRecord(name=gone.name, mechanism=gone.mechanism)
    for token in after.delegation_tokens():
        if before.delegation_token(token.token_id) != token:
            yield copied(token, DelegationTokenRecord)
    for token in before.delegation_tokens():
        if after.delegation_token(token.token_id) is None:
            yield RemoveDelegationTokenRecord(token_id=token.token_id)


def _changes(change: Change) -> Iterator[Record]:
    yield from _levels(change.before.features(), change.after.features())
    for acl_id in sorted(change.acl_ids):
        acl = change.after.acl(acl_id)
        if acl is not None:
            yield _added(acl)
        elif change.before.acl(acl_id) is not None:
            yield RemoveAccessControlEntryRecord(id=acl_id)


def _levels(before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[Record]:
    """Yield records of the feature levels that differ; a removed feature has level 0."""
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield FeatureLevelRecord(name=name, feature_level=after.get(name, 0))


def _added(acl: Acl) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(**msgspec.structs.asdict(acl))


def _encoded(records: Iterable[Record]) -> tuple[bytes, ...]:
    return tuple([encode_value(record, _VERSION) for record in records])
