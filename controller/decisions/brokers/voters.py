"""Voters: the controllers that brokers of Kafka find in the log.

A broker with `controller.quorum.bootstrap.servers` alone, from Kafka 3.9 on, registers at the
leader's address in the newest VotersRecord; once the log has one, so do all other brokers.

Source: KIP-853; VoterSetHistory and VoterSet of Kafka 3.9 to 4.3: a set of voters may differ from
the one before by one voter that was added, and one that was removed.
"""

import msgspec

from controller.decisions.context.context import Context
from controller.results.result import ControllerResult
from records.base import Record, Uuid
from records.control import (
    KRaftVersionFeature,
    KRaftVersionRecord,
    QuorumVoter,
    VoterEndpoint,
    VotersRecord,
)
from replay.image.fields import copied

RECONFIGURABLE = 1
"""The lowest kraft.version whose voters are in the log."""

_FEATURE = KRaftVersionFeature(min_supported_version=0, max_supported_version=RECONFIGURABLE)


class AnnounceVoter(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a leader to be among the voters.

    Attributes:
        directory_id: The same for each process of this node.
        listener: The listener's name in the brokers' `controller.listener.names`; None: as the
            voters in the log have it, and nothing if there are none.
    """

    voter_id: int
    directory_id: Uuid
    listener: str | None
    host: str
    port: int


def announce_voter(context: Context, request: AnnounceVoter) -> ControllerResult[None]:
    """Add the leader to the voters, or change its address; nothing if the log has it already."""
    voters = {each.voter_id: copied(each, QuorumVoter) for each in context.image.voters()}
    listener = request.listener or _listener_of(request.voter_id, voters)
    if listener is None:
        return ControllerResult(response=None)
    voter = QuorumVoter(
        voter_id=request.voter_id,
        voter_directory_id=request.directory_id,
        endpoints=(VoterEndpoint(name=listener, host=request.host, port=request.port),),
        kraft_version_feature=_FEATURE,
    )
    records: list[Record] = []
    if (context.image.kraft_version or 0) < RECONFIGURABLE:
        records.append(KRaftVersionRecord(version=0, kraft_version=RECONFIGURABLE))
    if voters.get(request.voter_id) != voter:
        voters[request.voter_id] = voter
        ordered = tuple(each for _, each in sorted(voters.items()))
        records.append(VotersRecord(version=0, voters=ordered))
    return ControllerResult(response=None, records=tuple(records))


def _listener_of(voter_id: int, voters: dict[int, QuorumVoter]) -> str | None:
    """Return the name of a voter's listener in the log, or that of any other voter."""
    known = [voters[voter_id]] if voter_id in voters else [*voters.values()]
    return next((endpoint.name for each in known for endpoint in each.endpoints), None)
