"""A partition that is taken for plain violates nothing."""

from hypothesis import given
from hypothesis import strategies as st

from controller.invariants.of_partitions import OF_PARTITIONS
from controller.invariants.plain_partitions import PlainPartitions
from replay.image.partitions import Partition
from tests.replay.builders import broker, image_of, partition, topic, uid

_IMAGE = image_of(
    topic("orders"),
    partition("orders", 0),
    broker(1, fenced=False),
    broker(2, fenced=False),
    broker(3, fenced=True),
)
_SOME = st.lists(st.integers(1, 4), max_size=3).map(tuple)
_RARELY = st.sampled_from([(), (), (), (), (1,), (2, 2)])
_PARTITIONS = st.builds(
    Partition,
    topic_id=st.just(uid("orders")),
    partition_id=st.just(0),
    replicas=_SOME,
    isr=_SOME,
    removing_replicas=_RARELY,
    adding_replicas=_RARELY,
    leader=st.integers(-1, 4),
    leader_recovery_state=st.sampled_from([0, 0, 0, 1, 7]),
    leader_epoch=st.sampled_from([0, 1, -1]),
    partition_epoch=st.sampled_from([0, 1, -1]),
    directories=st.sampled_from([(), (uid("a"),), (uid("a"), uid("b"))]),
    eligible_leader_replicas=_RARELY,
    mode=st.sampled_from([0, 0, 0, 1, 2, 9]),
)
_SOUND = Partition(uid("orders"), 0, (1, 2), (2, 1), (), (), 1, 0, 3, 4)


@given(st.lists(_PARTITIONS, max_size=6))
def test_checks_find_nothing_in_a_plain_partition(some: list[Partition]) -> None:
    plain = PlainPartitions()
    assert plain.others(_IMAGE, [_SOUND]) == []
    others = plain.others(_IMAGE, some)
    left_out = [each for each in some if each not in others]
    assert [list(check(_IMAGE, left_out)) for check in OF_PARTITIONS] == [[]] * len(OF_PARTITIONS)


def test_what_was_sound_is_forgotten_when_a_broker_changes() -> None:
    plain = PlainPartitions()
    assert plain.others(_IMAGE, [_SOUND]) == []
    fenced = image_of(topic("orders"), broker(1, fenced=False), broker(2, fenced=True))
    plain.forget()
    assert plain.others(fenced, [_SOUND]) == [_SOUND]
