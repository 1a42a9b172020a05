"""SCRAM credentials, by user and mechanism."""

import msgspec

from records.errors import ContradictionError
from records.security import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from replay.image.changes import MapDelta
from replay.image.fields import copied


class ScramCredential(msgspec.Struct, frozen=True, gc=False):
    """The stored form of a password. `mechanism` is 1 for SCRAM-SHA-256, 2 for -512."""

    name: str
    mechanism: int
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class ScramDelta(MapDelta[tuple[str, int], ScramCredential]):
    """Changes to credentials."""

    def set(self, record: UserScramCredentialRecord) -> None:
        """Set the credential of a user and mechanism."""
        self.put((record.name, record.mechanism), copied(record, ScramCredential))

    def remove(self, record: RemoveUserScramCredentialRecord) -> None:
        """Remove a credential."""
        if self.take((record.name, record.mechanism)) is None:
            raise ContradictionError(
                f"user {record.name!r} has no credential of mechanism {record.mechanism}"
            )
