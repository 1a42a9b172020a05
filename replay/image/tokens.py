"""Delegation tokens, by token id."""

import msgspec

from records.errors import ContradictionError
from records.security import DelegationTokenRecord, RemoveDelegationTokenRecord
from replay.image.changes import MapDelta
from replay.image.fields import copied


class DelegationToken(msgspec.Struct, frozen=True, gc=False):
    """A token whose holders act as the principal `owner`; times are in ms since 1970."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int


class DelegationTokensDelta(MapDelta[str, DelegationToken]):
    """Changes to tokens."""

    def set(self, record: DelegationTokenRecord) -> None:
        """Set the token with this id."""
        self.put(record.token_id, copied(record, DelegationToken))

    def remove(self, record: RemoveDelegationTokenRecord) -> None:
        """Remove a token."""
        if self.take(record.token_id) is None:
            # The id is a secret, so the error does not show it.
            raise ContradictionError("there is no delegation token of that id")
