"""`quorum-state`: the last vote and the last leader that a node knew.

Source: KIP-595 (version 0, with the voters), KIP-853 (version 1, with the voted directory).
"""

from pathlib import Path

import msgspec

from records.errors import CorruptLogError

_SIZE_BYTES_MAX = 1024 * 1024
_NONE = -1
_ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


class QuorumState(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `quorum-state`; fields without a value, such as no vote, are None.

    `voter_ids` are the voters in version 0 of the file; with version 1 the voters are in the log.
    """

    data_version: int
    leader_id: int | None
    leader_epoch: int
    voted_id: int | None
    voted_directory_id: str | None = None
    voter_ids: tuple[int, ...] = ()


class _Voter(msgspec.Struct, rename="camel"):
    voter_id: int


class _Vote(msgspec.Struct, rename="camel"):
    leader_id: int
    leader_epoch: int
    voted_id: int
    data_version: int = msgspec.field(name="data_version")
    voted_directory_id: str = _ZERO_ID
    current_voters: tuple[_Voter, ...] | None = None


def read_quorum_state(path: Path) -> QuorumState | None:
    """Read `quorum-state`; return None if the file does not exist.

    Raises:
        CorruptLogError: the file does not have the form that Kafka writes.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_SIZE_BYTES_MAX)
    except FileNotFoundError:
        return None
    try:
        vote = msgspec.json.decode(content, type=_Vote)
    except msgspec.DecodeError as error:
        raise CorruptLogError(
            f"{path} byte 0: not a valid quorum-state file ({error}); copy it from its node again"
        ) from None
    return QuorumState(
        data_version=vote.data_version,
        leader_id=_id(vote.leader_id),
        leader_epoch=vote.leader_epoch,
        voted_id=_id(vote.voted_id),
        voted_directory_id=None if vote.voted_directory_id == _ZERO_ID else vote.voted_directory_id,
        voter_ids=tuple(voter.voter_id for voter in vote.current_voters or ()),
    )


def _id(number: int) -> int | None:
    return None if number == _NONE else number
