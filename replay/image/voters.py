"""Voters of a dynamic quorum, and the finalized kraft.version (KIP-853).

The log of a static quorum has no VotersRecord and no KRaftVersionRecord: its voters are listed in
the newest LeaderChangeMessage.
"""

import msgspec

from records.base import Uuid
from records.control import KRaftVersionFeature, KRaftVersionRecord, VoterEndpoint, VotersRecord
from replay.image.changes import MapDelta, ValueDelta
from replay.image.fields import copied


class Voter(msgspec.Struct, frozen=True, gc=False):
    """A voter of the quorum, with the listeners at which other controllers reach it."""

    voter_id: int
    voter_directory_id: Uuid
    endpoints: tuple[VoterEndpoint, ...]
    kraft_version_feature: KRaftVersionFeature


class KRaftVersion(msgspec.Struct, frozen=True, gc=False):
    """The finalized level of kraft.version."""

    kraft_version: int


class VotersDelta(MapDelta[int, Voter]):
    """Changes to the voters, by id."""

    def replace(self, record: VotersRecord) -> None:
        """Replace all voters."""
        voters = {each.voter_id: copied(each, Voter) for each in record.voters}
        for voter_id in [voter_id for voter_id, _ in self.items() if voter_id not in voters]:
            self.take(voter_id)
        for voter_id, voter in voters.items():
            if self.get(voter_id) != voter:
                self.put(voter_id, voter)


class KRaftVersionDelta(ValueDelta[KRaftVersion | None]):
    """Changes to kraft.version; it is None until a record sets it."""

    def set_version(self, record: KRaftVersionRecord) -> None:
        """Replace the level."""
        self.put(copied(record, KRaftVersion))
