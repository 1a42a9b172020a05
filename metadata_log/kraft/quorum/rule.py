"""The rule for a lost quorum: which directory is the seed, and what that choice can lose.

| what the directories show | verdict |
|---|---|
| they cannot be told apart, or show two histories | refused |
| the logs of a majority of the voters are whole | start_them: nothing is lost |
| the best log is damaged, or lacks records known to be committed | refused |
| anything else | seed: the log with the highest (last epoch, end offset) |

Why the highest pair: the leader of an epoch had everything committed in earlier epochs before its
first record, and within one epoch logs are prefixes of each other. So that log has every committed
record that is in any of the directories.

`certain`: every possible majority of the voters has a whole log here, so nothing committed can be
missing. With exactly half of a dynamic quorum this does not follow: a voter that was added last may
have committed records together with the lost voters.

Source: KIP-595, KIP-853.
"""

from collections.abc import Sequence

import msgspec

from metadata_log.kraft.quorum import refusals
from metadata_log.kraft.quorum.divergence import common_end
from metadata_log.kraft.quorum.facts import LogEnd, NodeFacts, Voter, VoterSet

START_THEM, SEED, REFUSED = "start_them", "seed", "refused"


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """Records of a directory that are not in the seed's history: [from_offset, to_offset)."""

    name: str
    from_offset: int
    to_offset: int


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the rule: refused, start the nodes, or use a seed.

    Attributes:
        certain: True if nothing that was committed can be missing.
        seed: The chosen directory; None unless the verdict is `seed`.
        proven_end: Offset below which everything is proven to be committed.
        lost: Records in other directories that the seed lacks; they were never committed.
        unknown: Questions that the directories cannot answer.
        voters: The voters in force, according to the best log; None if unknown.
        lost_voters: The voters that have no whole log here.
        leader_epoch: The highest epoch seen anywhere.
        is_dynamic: True if the voters are in the log (kraft.version 1).
    """

    verdict: str
    reason: str
    certain: bool = False
    seed: NodeFacts | None = None
    proven_end: int = 0
    lost: tuple[Lost, ...] = ()
    unknown: tuple[str, ...] = ()
    voters: VoterSet | None = None
    lost_voters: tuple[Voter, ...] = ()
    leader_epoch: int = -1
    is_dynamic: bool = False


def decide(nodes: Sequence[NodeFacts], configured_voters: frozenset[int] = frozenset()) -> Verdict:
    """Apply the rule for a lost quorum to the directories, and return the verdict.

    Args:
        nodes: The facts of each directory; at least one.
        configured_voters: Ids from `controller.quorum.voters`, for a static quorum whose log does
            not list the voters.
    """
    found = refusals.of_identity(nodes)
    best = best_of(nodes)
    if best is None:
        return Verdict(verdict=REFUSED, reason="; ".join([*found, "no directory holds a record"]))
    if found:
        return Verdict(verdict=REFUSED, reason="; ".join(found))
    sets = voter_sets(nodes, best, configured_voters)
    refused = [*refusals.of_histories(nodes), *refusals.of_best(nodes, best)]
    if not sets:
        refused.append(
            "the voters are unknown: name them as controller.quorum.voters does, by --voters"
        )
    judged = Verdict(
        verdict=REFUSED,
        reason="; ".join(refused),
        proven_end=proven_end(nodes, sets),
        unknown=_unknown(nodes, best),
        voters=sets[0] if sets else None,
        lost_voters=_lost_voters(nodes, sets[0]) if sets else (),
        leader_epoch=max(node.epochs_seen for node in nodes),
        is_dynamic=bool(best.voter_sets),
    )
    if refused:
        return judged
    set_back = _set_back(nodes, sets)
    if not set_back and all(_count(nodes, each, "can_start") >= each.majority for each in sets):
        return _start_them(judged, nodes, sets)
    damaged = refusals.of_seed(nodes, best)
    if damaged:
        return msgspec.structs.replace(judged, reason="; ".join(damaged))
    return _seed(judged, nodes, best, sets, set_back)


def best_of(nodes: Sequence[NodeFacts]) -> NodeFacts | None:
    """Return the directory with the highest log; among equally high ones, one that can start.

    Returns None if no directory has a log.
    """
    with_log = [node for node in nodes if node.end is not None]
    return max(
        with_log,
        key=lambda node: (node.end or LogEnd(-1, 0), node.can_start, _is_named_voter(node)),
        default=None,
    )


def log_to_load(verdict: Verdict, nodes: Sequence[NodeFacts]) -> NodeFacts | None:
    """Return the directory whose log the next leader loads; None if the choice is refused."""
    if verdict.verdict == REFUSED:
        return None
    can_start = [node for node in nodes if node.can_start]
    return verdict.seed or best_of(can_start)


def _is_named_voter(node: NodeFacts) -> bool:
    named = node.voter_sets[-1] if node.voter_sets else node.leader_voters
    return named is not None and node.is_voter_of(named)


def voter_sets(
    nodes: Sequence[NodeFacts], best: NodeFacts, configured: frozenset[int] = frozenset()
) -> list[VoterSet]:
    """Return every set of voters that may be in force; the first is the set of the best log.

    In a dynamic quorum a VotersRecord takes effect when it is written, not when it is committed. So
    each VotersRecord above the proven end counts, not only the last one of the best log: it may
    have been in force when records above the proven end were committed.
    """
    if best.voter_sets:
        proven = _newest_checkpoint(nodes)
        others = [each for node in nodes for each in node.voter_sets if each.offset >= proven]
        before = [each for each in best.voter_sets if each.offset < proven][-1:]
        found = [best.voter_sets[-1], *before, *others]
    else:
        states = [
            VoterSet(voters=frozenset(map(Voter, node.state_voters)))
            for node in nodes
            if node.state_voters
        ]
        named = [VoterSet(voters=frozenset(map(Voter, configured)))] if configured else []
        found = [*([best.leader_voters] if best.leader_voters else []), *named, *states]
    by_members: dict[frozenset[Voter], VoterSet] = {}
    for each in found:
        by_members.setdefault(each.voters, each)
    return list(by_members.values())


def proven_end(nodes: Sequence[NodeFacts], sets: Sequence[VoterSet]) -> int:
    """Return the end of the part that is proven to be committed.

    Two things prove it: a checkpoint, for everything below its end; and a majority of the voters,
    for the beginning that their logs have in common. The latter counts only if this beginning ends
    in the highest epoch found in any log or `quorum-state`: a voter that has seen a later epoch may
    follow a leader whose log differs. A voter with an unreadable `quorum-state` may have seen a
    later epoch.
    """
    if any(node.bad_state is not None for node in nodes):
        return _newest_checkpoint(nodes)
    newest = max(node.epochs_seen for node in nodes)
    by_majority = []
    for voters in sets:
        ends = sorted(
            node.end.end_offset
            for node in nodes
            if node.end and node.is_whole and node.end.leader_epoch == newest
            if node.is_voter_of(voters)
        )
        if len(ends) < voters.majority:
            return _newest_checkpoint(nodes)
        by_majority.append(ends[-voters.majority])
    return max(_newest_checkpoint(nodes), min(by_majority, default=0))


def _newest_checkpoint(nodes: Sequence[NodeFacts]) -> int:
    return max((c.end_offset for node in nodes for c in node.checkpoints), default=0)


def _count(nodes: Sequence[NodeFacts], voters: VoterSet, quality: str) -> int:
    return sum(getattr(node, quality) and node.is_voter_of(voters) for node in nodes)


def _lost_voters(nodes: Sequence[NodeFacts], voters: VoterSet) -> tuple[Voter, ...]:
    kept = [node for node in nodes if node.is_whole]
    alone = ((voter, VoterSet(voters=frozenset((voter,)))) for voter in voters.voters)
    return tuple(sorted(v for v, only in alone if not any(n.is_voter_of(only) for n in kept)))


def _start_them(judged: Verdict, nodes: Sequence[NodeFacts], sets: Sequence[VoterSet]) -> Verdict:
    names = [node.name for node in nodes if node.can_start and node.is_voter_of(sets[0])]
    count = len(sets[0].voters)
    return msgspec.structs.replace(
        judged,
        verdict=START_THEM,
        certain=True,
        reason=f"{len(names)} of {count} voters are whole, which is a majority: nothing committed "
        f"is lost, so start {', '.join(names)}",
    )


def _seed(
    judged: Verdict,
    nodes: Sequence[NodeFacts],
    best: NodeFacts,
    sets: Sequence[VoterSet],
    set_back: str | None,
) -> Verdict:
    certain = not set_back and all(_is_certain(nodes, each, judged.is_dynamic) for each in sets)
    unknown: tuple[str, ...] = ()
    missing = ", ".join(str(voter.voter_id) for voter in judged.lost_voters)
    if set_back:
        why = set_back
        unknown = (
            f"changes that voters had before they were set back cannot be known: {set_back}",
        )
    elif certain:
        why = "every majority of the voters has a log here"
    else:
        why = "not every majority of the voters has a log here"
        unknown = (
            f"changes that only the lost voters had ({missing}) cannot be known"
            if missing
            else "changes that only voters of an earlier or later set had cannot be known",
        )
    return msgspec.structs.replace(
        judged,
        verdict=SEED,
        certain=certain,
        seed=best,
        reason=f"{best.name} has the highest log: {best.end}{_runner_up(nodes, best)}; {why}",
        lost=tuple(_lost(nodes, best)),
        unknown=(*unknown, *judged.unknown),
    )


def _set_back(nodes: Sequence[NodeFacts], sets: Sequence[VoterSet]) -> str | None:
    """Return evidence that voters' disks were restored from older copies; None if there is none.

    A leader is elected by a majority, and each voter writes its vote to `quorum-state` first. So if
    a leader is known, and too few directories can have voted for it, disks were restored.
    """
    newest = max(map(_elected_epoch, nodes))
    unaware = [n for n in nodes if n.election is not None and n.epochs_seen < newest]
    for voters in sets:
        members = sum(node.is_voter_of(voters) for node in unaware)
        if len(voters.voters) - members >= voters.majority:
            return None
    names = ", ".join(node.name for node in unaware)
    return f"epoch {newest} had a leader, of whose election a majority must know, but not {names}"


def _elected_epoch(node: NodeFacts) -> int:
    """Return the newest epoch that had a leader, according to the node's log and `quorum-state`."""
    followed = node.election is not None and node.election.leader_id is not None
    in_log = -1 if node.end is None else node.end.leader_epoch
    return max(in_log, node.election.leader_epoch if node.election and followed else -1)


def _is_certain(nodes: Sequence[NodeFacts], voters: VoterSet, is_dynamic: bool) -> bool:
    kept = _count(nodes, voters, "is_whole")
    if is_dynamic:
        return kept >= voters.majority
    return len(voters.voters) - kept < voters.majority


def _runner_up(nodes: Sequence[NodeFacts], best: NodeFacts) -> str:
    others = [(node.end, node.name) for node in nodes if node is not best and node.end is not None]
    if not others:
        return ", and there is no other"
    end, name = max(others)
    return f", as {name} has too" if end == best.end else f"; the next is {name}: {end}"


def _lost(nodes: Sequence[NodeFacts], best: NodeFacts) -> list[Lost]:
    found = []
    for node in nodes:
        start, end_offset = common_end(best.batches, node.batches), node.batches.end_offset
        if node is not best and start < end_offset:
            found.append(Lost(name=node.name, from_offset=start, to_offset=end_offset))
    return found


def _unknown(nodes: Sequence[NodeFacts], best: NodeFacts) -> tuple[str, ...]:
    assert best.end is not None
    newest = best.end.leader_epoch
    found = []
    for node in nodes:
        vote = node.election
        if vote is None or vote.leader_epoch <= newest:
            continue
        if vote.leader_id is not None:
            found.append(
                f"{node.name} followed node {vote.leader_id} as leader of epoch "
                f"{vote.leader_epoch}; no log here holds a record of that epoch"
            )
        elif vote.voted_id is not None:
            found.append(
                f"{node.name} voted for node {vote.voted_id} in epoch {vote.leader_epoch}: perhaps "
                "it was elected and wrote records"
            )
    found += [
        f"the last epoch, vote and leader of {node.name}: {node.bad_state}"
        for node in nodes
        if node.bad_state is not None
    ]
    for node in nodes:
        if node.end is None or node.end.end_offset == 0:
            found.append(f"{node.name} holds no record: an emptied disk proves nothing")
        elif node.is_tail_damaged:
            found.append(
                f"the last batch of {node.name}: it is damaged, not unfinished, and may have been "
                "committed"
            )
        elif node.torn_bytes:
            found.append(f"what {node.name} was writing last: the unfinished batch is left out")
        elif not node.is_whole and node.damage is not None:
            found.append(f"what {node.name} held after its damage at offset {node.damage.offset}")
        found += [
            f"{node.name}: {name} is damaged or incomplete" for name in node.broken_checkpoints
        ]
    found.append(
        "whether all nodes lost power at the same moment: a leader counts itself before it has "
        "synced, so then the last records may have been committed and be on no disk"
    )
    return tuple(found)
