"""Security: ACLs, SCRAM credentials, delegation tokens."""

from records.base import Record, Uuid


class AccessControlEntryRecord(Record, frozen=True, kw_only=True):
    """An ACL was created.

    Attributes:
        id: Random id of the entry.
        resource_type: 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user,
            100 namespace.
        resource_name: Name or prefix of the resource.
        pattern_type: 3 literal, 4 prefixed.
        principal: Who it applies to, such as User:alice.
        host: The host it applies to, * for any.
        operation: Code of the operation; 2 is all.
        permission_type: 2 deny, 3 allow.
    """

    id: Uuid
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class RemoveAccessControlEntryRecord(Record, frozen=True, kw_only=True):
    """An ACL was removed.

    Attributes:
        id: Id of the entry.
    """

    id: Uuid


class UserScramCredentialRecord(Record, frozen=True, kw_only=True):
    """A SCRAM credential was set.

    Attributes:
        name: User name.
        mechanism: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
        salt: Random salt.
        stored_key: Hash that the server checks the client's proof against. Secret.
        server_key: Key the server proves itself with. Secret.
        iterations: Rounds of the key derivation.
    """

    name: str
    mechanism: int
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class RemoveUserScramCredentialRecord(Record, frozen=True, kw_only=True):
    """A SCRAM credential was removed.

    Attributes:
        name: User name.
        mechanism: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
    """

    name: str
    mechanism: int


class DelegationTokenRecord(Record, frozen=True, kw_only=True):
    """A delegation token was created, renewed or given a new expiry.

    Attributes:
        owner: Principal that owns the token.
        requester: Principal that asked for it.
        renewers: Principals that may renew it.
        issue_timestamp: When it was issued, ms since 1970.
        max_timestamp: The latest time it can be renewed to, ms since 1970.
        expiration_timestamp: When it expires unless renewed, ms since 1970.
        token_id: The token's id.
    """

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int
    token_id: str


class RemoveDelegationTokenRecord(Record, frozen=True, kw_only=True):
    """A delegation token was removed.

    Attributes:
        token_id: The token's id.
    """

    token_id: str
