"""Security: ACLs, SCRAM credentials, delegation tokens."""

from records.base import Record, Uuid


class AccessControlEntryRecord(Record, frozen=True, kw_only=True):
    """An ACL was created."""

    id: Uuid
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class RemoveAccessControlEntryRecord(Record, frozen=True, kw_only=True):
    """An ACL was removed."""

    id: Uuid


class UserScramCredentialRecord(Record, frozen=True, kw_only=True):
    """A SCRAM credential was set."""

    name: str
    mechanism: int
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class RemoveUserScramCredentialRecord(Record, frozen=True, kw_only=True):
    """A SCRAM credential was removed."""

    name: str
    mechanism: int


class DelegationTokenRecord(Record, frozen=True, kw_only=True):
    """A delegation token was created, renewed or given a new expiry."""

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int
    token_id: str


class RemoveDelegationTokenRecord(Record, frozen=True, kw_only=True):
    """A delegation token was removed."""

    token_id: str
