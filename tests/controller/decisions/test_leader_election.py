from collections.abc import Callable

import pytest

from controller.decisions.partitions import leader_election
from controller.decisions.partitions.leader_election import Candidates, Elected, Election


def elect(
    candidates: Candidates,
    election: Election,
    acceptable: Callable[[int], bool],
    *,
    allows_unclean: bool = False,
) -> Elected:
    return leader_election.elect(candidates, election, acceptable, lambda: allows_unclean)


def _only(*brokers: int) -> Callable[[int], bool]:
    return lambda broker: broker in brokers


def _candidates(
    isr: tuple[int, ...] = (1, 2, 3),
    leader: int = 1,
    eligible: tuple[int, ...] = (),
    last_known_leader: int | None = None,
) -> Candidates:
    return Candidates(
        replicas=(1, 2, 3),
        isr=isr,
        leader=leader,
        eligible=eligible,
        last_known_leader=last_known_leader,
    )


@pytest.mark.parametrize("election", [Election.ONLINE, Election.UNCLEAN])
def test_a_valid_leader_stays(election: Election) -> None:
    assert elect(_candidates(leader=3), election, _only(1, 2, 3)) == Elected(3)


def test_a_preferred_election_moves_leadership_to_the_first_replica() -> None:
    assert elect(_candidates(leader=3), Election.PREFERRED, _only(1, 2, 3)) == Elected(1)


def test_a_preferred_election_keeps_the_leader_while_the_first_replica_cannot_lead() -> None:
    assert elect(_candidates(leader=3), Election.PREFERRED, _only(2, 3)) == Elected(3)
    assert elect(_candidates(isr=(2, 3), leader=3), Election.PREFERRED, _only(1, 2, 3)) == Elected(
        3
    )


@pytest.mark.parametrize("election", list(Election))
def test_without_a_valid_leader_the_first_valid_replica_leads(election: Election) -> None:
    assert elect(_candidates(), election, _only(2, 3)) == Elected(2)
    assert elect(_candidates(isr=(3, 1)), election, _only(2, 3)) == Elected(3)


@pytest.mark.parametrize("election", [Election.ONLINE, Election.PREFERRED])
def test_nobody_outside_the_isr_leads_without_leave(election: Election) -> None:
    assert elect(_candidates(isr=(1,)), election, _only(2, 3)) == Elected(-1)


def test_an_unclean_election_takes_the_first_replica_that_is_there() -> None:
    assert elect(_candidates(isr=(1,)), Election.UNCLEAN, _only(2, 3)) == Elected(2, unclean=True)


def test_a_topic_that_allows_it_gets_an_unclean_leader_but_not_from_a_preferred_election() -> None:
    candidates = _candidates(isr=(1,))
    for election, elected in (
        (Election.ONLINE, Elected(2, unclean=True)),
        (Election.PREFERRED, Elected(-1)),
    ):
        assert elect(candidates, election, _only(2, 3), allows_unclean=True) == elected


def test_an_unclean_election_prefers_the_isr() -> None:
    assert elect(_candidates(isr=(3,)), Election.UNCLEAN, _only(2, 3)) == Elected(3)


def test_nobody_leads_when_no_replica_is_there() -> None:
    assert elect(_candidates(), Election.UNCLEAN, _only()) == Elected(-1)


def test_eligible_replicas_count_only_while_the_isr_is_empty() -> None:
    with_isr = _candidates(isr=(1,), eligible=(3,))
    assert elect(with_isr, Election.ONLINE, _only(3)) == Elected(-1)
    without_isr = _candidates(isr=(), eligible=(3,))
    assert elect(without_isr, Election.ONLINE, _only(2, 3)) == Elected(3)


@pytest.mark.parametrize("election", list(Election))
def test_the_last_known_leader_comes_back_when_nobody_is_left(election: Election) -> None:
    candidates = _candidates(isr=(), leader=-1, last_known_leader=2)
    assert elect(candidates, election, _only(2)) == Elected(2, unclean=True)


def test_a_last_known_leader_that_is_down_does_not_lead() -> None:
    candidates = _candidates(isr=(), leader=-1, last_known_leader=2)
    assert elect(candidates, Election.ONLINE, _only(3)) == Elected(-1)


def test_a_last_known_leader_that_was_moved_away_does_not_lead() -> None:
    candidates = _candidates(isr=(), leader=-1, last_known_leader=4)
    assert elect(candidates, Election.ONLINE, _only(1, 4)) == Elected(-1)
    assert elect(candidates, Election.UNCLEAN, _only(1, 4)) == Elected(1, unclean=True)


@pytest.mark.parametrize("election", [Election.ONLINE, Election.PREFERRED])
@pytest.mark.parametrize(("isr", "eligible"), [((2,), ()), ((), (2,)), ((2,), (2,))])
def test_a_last_known_leader_does_not_lead_while_any_member_is_left(
    election: Election, isr: tuple[int, ...], eligible: tuple[int, ...]
) -> None:
    """It may lack records that a member of the ISR or ELR has, even while that member is down."""
    candidates = _candidates(isr=isr, leader=-1, eligible=eligible, last_known_leader=3)
    assert elect(candidates, election, _only(1, 3)) == Elected(-1)
    assert elect(candidates, election, _only(1, 2, 3)) == Elected(2)
