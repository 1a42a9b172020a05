"""The test cases of `advise`: the files left after a lost quorum, and the expected advice.

docs/advise.md has the same table in words; a test compares the two.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from metadata_log.kraft_format.names import PARTITION_DIRECTORY, QUORUM_STATE
from records.control import EndTransactionRecord, KRaftVersionRecord
from tests.api.advise.clusters import Cluster, History, directory_id, flipped, voters_record

START_THEM, SEED, REFUSED = "start_them", "seed", "refused"
FIVE = (1, 2, 3, 4, 5)

Build = Callable[[Cluster], list[Path]]


class Case(msgspec.Struct, frozen=True):
    """A situation and the right answer.

    Attributes:
        seed: Name of the directory to use as the seed; None unless the verdict is `seed`.
        says: Words that the answer must contain.
        options: Options of the command.
    """

    title: str
    build: Build
    verdict: str
    certain: bool = False
    seed: str | None = None
    says: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


CASES: list[Case] = []


def case(
    title: str,
    verdict: str,
    *,
    certain: bool = False,
    seed: str | None = None,
    says: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
) -> Callable[[Build], Build]:
    """Add a case to the table."""

    def add(build: Build) -> Build:
        CASES.append(Case(title, build, verdict, certain, seed, says, options))
        return build

    return add


def history(*, voters: tuple[int, ...] = (1, 2, 3), dynamic: bool = False) -> History:
    """Return a history of two epochs with a few topics each.

    Its offsets are 0 to 9, or 0 to 11 with a dynamic quorum.
    """
    made = History(voters, dynamic=dynamic).epoch(1).topics("a", "b", "c", "d")
    return made.epoch(2, leader=2).topics("e", "f", "g")


# A majority survived.


@case("all three voters survive", START_THEM, certain=True)
def _all(cluster: Cluster) -> list[Path]:
    return [cluster.node(f"n{each}", history()) for each in (1, 2, 3)]


@case("two of three survive", START_THEM, certain=True, says=("do not format",))
def _two_of_three(cluster: Cluster) -> list[Path]:
    return [cluster.node(f"n{each}", history()) for each in (1, 2)]


@case("two of three survive, one behind", START_THEM, certain=True)
def _behind_in_majority(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", history()), cluster.node("n2", history(), end=5)]


@case("two of three survive, one diverged", START_THEM, certain=True)
def _diverged_in_majority(cluster: Cluster) -> list[Path]:
    old = History().epoch(1).topics("a", "b", "c", "d", "x", "y", "z")
    return [cluster.node("n1", history()), cluster.node("n2", old)]


@case("three of five survive", START_THEM, certain=True)
def _three_of_five(cluster: Cluster) -> list[Path]:
    return [cluster.node(f"n{each}", history(voters=FIVE)) for each in (1, 2, 3)]


@case("the only voter survives", START_THEM, certain=True)
def _sole(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", history(voters=(1,)))]


@case("a majority, and a broker ahead of it", START_THEM, certain=True)
def _majority_and_broker(cluster: Cluster) -> list[Path]:
    two = [cluster.node(f"n{each}", history(), end=8) for each in (1, 2)]
    return [*two, cluster.node("b7", history())]


@case("a majority, and one damaged disk", START_THEM, certain=True, says=("do not start",))
def _majority_and_damage(cluster: Cluster) -> list[Path]:
    two = [cluster.node(f"n{each}", history()) for each in (1, 2)]
    return [*two, cluster.node("n3", history(), raw=flipped(history(), 4))]


@case(
    "dead names: a majority of a dynamic quorum, whose hosts have moved",
    START_THEM,
    certain=True,
    says=("make the old ones resolve",),
)
def _dead_names(cluster: Cluster) -> list[Path]:
    return [cluster.node(f"n{each}", history(dynamic=True)) for each in (1, 2)]


@case("a majority ends in a torn batch", START_THEM, certain=True)
def _torn_majority(cluster: Cluster) -> list[Path]:
    tail = history().batches[-1][:40]
    return [cluster.node(f"n{each}", history(), end=9, tail=tail) for each in (1, 2)]


@case("a majority, and a damaged log that is ahead of it", START_THEM, certain=True)
def _majority_and_damage_ahead(cluster: Cluster) -> list[Path]:
    two = [cluster.node(f"n{each}", history(), end=9) for each in (1, 2)]
    return [*two, cluster.node("n3", history(), raw=flipped(history(), 4))]


# A seed.


@case(
    "a majority that was set back: a broker has records of a later leader",
    SEED,
    seed="b7",
    says=("epoch 5 had a leader", "before they were set back cannot be known"),
)
def _set_back(cluster: Cluster) -> list[Path]:
    later = history().epoch(5, leader=3).topics("k", "l")
    two = [cluster.node(f"n{each}", history(), state=(2, 2, -1)) for each in (1, 2)]
    return [*two, cluster.node("b7", later)]


@case(
    "one of two, static, its last batch damaged",
    SEED,
    seed="n1",
    says=("damaged, not unfinished",),
)
def _damaged_last(cluster: Cluster) -> list[Path]:
    of = history(voters=(1, 2))
    return [cluster.node("n1", of, raw=flipped(of, of.starts[-1]))]


@case(
    "one of two, static, with a flipped bit in its last batch's length",
    SEED,
    seed="n1",
    says=("damaged, not unfinished",),
)
def _damaged_length(cluster: Cluster) -> list[Path]:
    of = history(voters=(1, 2))
    last = bytearray(of.batches[-1])
    last[10] ^= 1
    return [cluster.node("n1", of, raw=b"".join([*of.batches[:-1], last]))]


@case("one of two, static, whose newest checkpoint above the log is damaged", SEED, seed="n1")
def _broken_checkpoint_above(cluster: Cluster) -> list[Path]:
    made = cluster.node("n1", history(voters=(1, 2)), checkpoints=[(40, 2)])
    (path,) = made.glob("*/*.checkpoint")
    path.write_bytes(path.read_bytes()[:-30])
    return [made]


@case("damage below a checkpoint: voters and transactions behind it count", SEED, seed="n1")
def _covered_dynamic(cluster: Cluster) -> list[Path]:
    # The damage hides the end of a transaction; two voters are added after the checkpoint.
    of = history(dynamic=True).transaction("t")
    hidden = of.end
    of.add(EndTransactionRecord()).topics("h")
    end = of.end
    of.add(voters_record(1, 2, 3, 4)).topics("i")
    control = [KRaftVersionRecord(version=0, kraft_version=1), voters_record(1, 2, 3)]
    made = cluster.node("n1", of, raw=flipped(of, hidden), checkpoints=[(end, 2)], control=control)
    return [made, cluster.node("n2", of, end=end)]


@case("a checkpoint beyond a log with an open transaction", SEED, seed="n1")
def _checkpoint_beyond(cluster: Cluster) -> list[Path]:
    of = history(dynamic=True).transaction("t")
    control = [KRaftVersionRecord(version=0, kraft_version=1), voters_record(1, 2, 3)]
    return [cluster.node("n1", of, checkpoints=[(40, 2)], control=control)]


@case("one of three survives", SEED, seed="n2", says=("(1, 3) cannot be known",))
def _one_of_three(cluster: Cluster) -> list[Path]:
    return [cluster.node("n2", history())]


@case("two of five survive, one behind", SEED, seed="n4", says=("topic g created",))
def _two_of_five(cluster: Cluster) -> list[Path]:
    of = history(voters=FIVE)
    return [cluster.node("n1", of, end=9), cluster.node("n4", of)]


@case(
    "two of five, diverged: the longer log has the older epoch",
    SEED,
    seed="n1",
    says=("topic lost created",),
)
def _diverged(cluster: Cluster) -> list[Path]:
    start = History(FIVE).epoch(1).topics("a", "b")
    newer = start.fork().epoch(2, leader=2).topics("e")
    older = start.fork().topics("c", "d", "lost", "p", "q", "r")
    return [cluster.node("n1", newer), cluster.node("n2", older)]


@case("two of five with equal logs", SEED, seed="n1", says=("has too",))
def _equal(cluster: Cluster) -> list[Path]:
    return [cluster.node(f"n{each}", history(voters=FIVE)) for each in (1, 2)]


@case("the best log ends in a torn batch", SEED, seed="n1")
def _torn(cluster: Cluster) -> list[Path]:
    of = history(voters=FIVE)
    tail = of.batches[-1][:50]
    return [cluster.node("n1", of, end=9, tail=tail), cluster.node("n2", of, end=7)]


@case("a torn batch decides: what was cut does not count", SEED, seed="n2")
def _torn_decides(cluster: Cluster) -> list[Path]:
    of = history(voters=FIVE)
    tail = of.batches[-1][:50]
    return [cluster.node("n1", of, end=8, tail=tail), cluster.node("n2", of, end=9)]


@case("a power loss left zeros at the end", SEED, seed="n1")
def _zeros(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", history(), tail=bytes(4_096))]


@case("damage below the newest checkpoint, all after it readable", SEED, seed="n1")
def _covered(cluster: Cluster) -> list[Path]:
    of = history()
    return [cluster.node("n1", of, raw=flipped(of, 3), checkpoints=[(6, 1)])]


@case(
    "a damaged log beside a better one",
    SEED,
    seed="n2",
    says=("what n1 held after its damage",),
)
def _damaged_other(cluster: Cluster) -> list[Path]:
    of = history(voters=FIVE)
    raw = flipped(of, 4)[: -len(of.batches[-1])]
    return [cluster.node("n1", of, raw=raw), cluster.node("n2", of)]


@case(
    "a stale member alone, which knows a later leader",
    SEED,
    seed="n3",
    says=("followed node 2 as leader of epoch 7",),
)
def _stale(cluster: Cluster) -> list[Path]:
    return [cluster.node("n3", history(), end=5, state=(7, 2, -1), state_voters=(1, 2, 3))]


@case("a member that voted in a later epoch", SEED, seed="n3", says=("perhaps it was elected",))
def _voted(cluster: Cluster) -> list[Path]:
    return [cluster.node("n3", history(), state=(5, -1, 1), state_voters=(1, 2, 3))]


@case("two of four, static: every majority has a survivor", SEED, certain=True, seed="n1")
def _half_static(cluster: Cluster) -> list[Path]:
    of = history(voters=(1, 2, 3, 4))
    return [cluster.node("n1", of), cluster.node("n2", of, end=9)]


@case("one of two, static", SEED, certain=True, seed="n1")
def _one_of_two(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", history(voters=(1, 2)))]


@case("two of four, dynamic: an addition may be unseen", SEED, seed="n1")
def _half_dynamic(cluster: Cluster) -> list[Path]:
    of = history(voters=(1, 2, 3, 4), dynamic=True)
    return [cluster.node(f"n{each}", of) for each in (1, 2)]


@case("a replaced disk is not the voter that it was", SEED, seed="n1", says=("(2, 3)",))
def _replaced_disk(cluster: Cluster) -> list[Path]:
    of = history(dynamic=True)
    return [cluster.node("n1", of), cluster.node("n2", of, disk=directory_id(22))]


@case("an uncommitted VotersRecord: both sets count", SEED, seed="n1")
def _uncommitted_voters(cluster: Cluster) -> list[Path]:
    # By the old set {1} the only voter survives; by the new one, half of {1, 2}.
    of = history(voters=(1,), dynamic=True).add(voters_record(1, 2))
    return [cluster.node("n1", of)]


@case("a removed voter: the earlier set is settled by a checkpoint", START_THEM, certain=True)
def _settled_voters(cluster: Cluster) -> list[Path]:
    of = history(dynamic=True).add(voters_record(1)).topics("h")
    control = [KRaftVersionRecord(version=0, kraft_version=1), voters_record(1)]
    return [cluster.node("n1", of, checkpoints=[(of.end - 1, 2)], control=control)]


@case("only brokers survive", SEED, seed="b7", says=("(1, 2, 3) cannot be known",))
def _only_brokers(cluster: Cluster) -> list[Path]:
    return [cluster.node("b7", history()), cluster.node("b8", history(), end=9)]


@case("a broker ahead of all controllers", SEED, seed="b7", says=("topic g created",))
def _broker_ahead(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", history(), end=8), cluster.node("b7", history())]


@case("an emptied disk beside a full one", SEED, seed="n1", says=("an emptied disk proves",))
def _emptied(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", history()), cluster.node("n2", History())]


@case("an open transaction at the end", SEED, seed="n1")
def _transaction(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", history().transaction("t1", "t2"))]


@case("an old head was removed, and a checkpoint replaces it", SEED, seed="n1")
def _cleaned(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", history(), start=6, checkpoints=[(6, 1)])]


@case(
    "only a checkpoint: a follower that had just fetched it",
    SEED,
    seed="n1",
    options=("--voters", "1,2,3"),
)
def _only_checkpoint(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", None, checkpoints=[(6, 1)])]


@case("the log names no voters, the operator does", SEED, seed="n1", options=("--voters", "1,2,3"))
def _named_voters(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", history(), start=7, checkpoints=[(7, 2)])]


@case(
    "an incomplete checkpoint proves nothing", SEED, seed="n1", says=("is damaged or incomplete",)
)
def _incomplete_checkpoint(cluster: Cluster) -> list[Path]:
    made = cluster.node("n1", history(), checkpoints=[(8, 2)])
    (path,) = made.glob("*/*.checkpoint")
    path.write_bytes(path.read_bytes()[:-30])
    return [made]


# Refused.


@case("mixed clusters", REFUSED, says=("different clusters",))
def _mixed(cluster: Cluster) -> list[Path]:
    return [
        cluster.node("n1", history()),
        cluster.node("n2", history(), cluster_id="another-cluster-0000000"),
    ]


@case("no meta.properties", REFUSED, says=("may be any cluster",))
def _unnamed(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", history()), cluster.node("n2", history(), cluster_id=None)]


@case("a copied disk", REFUSED, says=("a copied disk",))
def _copied(cluster: Cluster) -> list[Path]:
    disk = directory_id(1)
    return [cluster.node("n1", history()), cluster.node("n2", history(), disk=disk)]


@case("two disks of one node", REFUSED, says=("both say they are node 1",))
def _two_disks(cluster: Cluster) -> list[Path]:
    old = cluster.node("n11", history(), end=5, node_id=1, disk=directory_id(11))
    return [cluster.node("n1", history()), old]


@case("one node twice, before disks had ids", REFUSED, says=("both say they are node 1",))
def _one_node_twice(cluster: Cluster) -> list[Path]:
    old = cluster.node("n11", history(), end=5, node_id=1, disk=None)
    return [cluster.node("n1", history(), disk=None), old]


@case("contradicting: one epoch, other records", REFUSED, says=("two histories",))
def _contradicting(cluster: Cluster) -> list[Path]:
    start = History(FIVE).epoch(1).topics("a", "b")
    return [
        cluster.node("n1", start.fork().topics("c", "d")),
        cluster.node("n2", start.fork().topics("x", "d")),
    ]


@case("an earlier forced recovery: one epoch, two leaders", REFUSED, says=("two histories",))
def _split_brain(cluster: Cluster) -> list[Path]:
    start = History(FIVE).epoch(1).topics("a", "b")
    return [
        cluster.node("n1", start.fork().epoch(3, leader=1).topics("c", "d")),
        cluster.node("n2", start.fork().topics("x").epoch(3, leader=2).topics("y")),
    ]


@case("damage in the middle of the best log", REFUSED, says=("damaged above its newest",))
def _damaged(cluster: Cluster) -> list[Path]:
    of = history(voters=FIVE)
    return [cluster.node("n1", of, raw=flipped(of, 8)), cluster.node("n2", of, end=5)]


@case("a better log lies behind damage", REFUSED, says=("beyond the highest readable log",))
def _better_behind_damage(cluster: Cluster) -> list[Path]:
    of = history(voters=FIVE)
    return [cluster.node("n1", of, raw=flipped(of, 3)), cluster.node("n2", of, end=8)]


@case("a checkpoint above the winner", REFUSED, says=("it lacks committed records",))
def _checkpoint_above(cluster: Cluster) -> list[Path]:
    # The newest epoch can only be elected without these records if disks have lost data.
    start = History(FIVE).epoch(1).topics("a")
    winner = start.fork().epoch(2, leader=1)
    older = start.fork().topics("b", "c", "d", "e", "f")
    return [cluster.node("n1", winner), cluster.node("b7", older, checkpoints=[(7, 1)])]


@case("a checkpoint of another epoch than the winner has there", REFUSED, says=("has epoch 2",))
def _checkpoint_epoch(cluster: Cluster) -> list[Path]:
    start = History(FIVE).epoch(1).topics("a")
    winner = start.fork().epoch(2, leader=1).topics("x", "y", "z", "u", "v")
    older = start.fork().topics("b", "c", "d")
    return [cluster.node("n1", winner), cluster.node("b7", older, checkpoints=[(5, 1)])]


@case("a checkpoint in the middle of a batch", REFUSED, says=("in the middle of a batch",))
def _checkpoint_inside(cluster: Cluster) -> list[Path]:
    from tests.api.advise.clusters import topic

    of = history().add(topic("x"), topic("y"))
    return [cluster.node("n1", of, checkpoints=[(of.end - 1, 2)])]


@case("the head of the log is gone", REFUSED, says=("Kafka refuses to start",))
def _headless(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", history(), start=6)]


@case("nobody names the voters", REFUSED, says=("the voters are unknown",))
def _unknown_voters(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", history(), start=7, checkpoints=[(7, 2)])]


@case("nothing but formatted directories", REFUSED, says=("no directory holds a record",))
def _formatted(cluster: Cluster) -> list[Path]:
    return [cluster.node(f"n{each}", History()) for each in (1, 2)]


# A zero checkpoint is what format writes for a dynamic quorum. The first leader repeats its records
# in the log, and it is never sent to other nodes.


def zero(cluster: Cluster, name: str, of: History | None, *voter_ids: int) -> Path:
    """Write a directory with a zero checkpoint that names voters."""
    control = (KRaftVersionRecord(version=0, kraft_version=1), voters_record(*voter_ids))
    return cluster.node(name, of, checkpoints=[(0, 0)], control=control)


@case("zero checkpoints: two of three survive, one behind", START_THEM, certain=True)
def _zero_majority(cluster: Cluster) -> list[Path]:
    of = history(dynamic=True)
    return [zero(cluster, "n1", of, 1, 2, 3), cluster.node("n2", of, end=8)]


@case("a zero checkpoint: one of three survives", SEED, seed="n1", says=("(2, 3) cannot be known",))
def _zero_alone(cluster: Cluster) -> list[Path]:
    return [zero(cluster, "n1", history(dynamic=True), 1, 2, 3)]


@case(
    "a zero checkpoint of the first voter alone: the log names more",
    SEED,
    seed="n1",
    says=("(2, 3) cannot be known",),
)
def _zero_grown(cluster: Cluster) -> list[Path]:
    of = history(voters=(1,), dynamic=True).add(voters_record(1, 2)).add(voters_record(1, 2, 3))
    return [zero(cluster, "n1", of.topics("h"), 1)]


@case(
    "a disk formatted anew as the only voter, beside a log",
    SEED,
    seed="n1",
    says=("n3 holds no record", "(2, 3) cannot be known"),
)
def _zero_beside(cluster: Cluster) -> list[Path]:
    of = history(dynamic=True)
    return [zero(cluster, "n1", of, 1, 2, 3), zero(cluster, "n3", None, 3)]


@case("nothing but zero checkpoints", REFUSED, says=("than what format writes",))
def _zero_only(cluster: Cluster) -> list[Path]:
    return [zero(cluster, f"n{each}", None, 1, 2, 3) for each in (1, 2)]


# `quorum-state` is unreadable.


def forgetful(directory: Path) -> Path:
    """Damage the file `quorum-state` in a directory."""
    (directory / PARTITION_DIRECTORY / QUORUM_STATE).write_text("{")
    return directory


@case(
    "a majority, one with an unreadable quorum-state",
    START_THEM,
    certain=True,
    says=("start n2 last", "the last epoch, vote and leader of n2"),
)
def _forgetful_majority(cluster: Cluster) -> list[Path]:
    return [cluster.node("n1", history()), forgetful(cluster.node("n2", history()))]


@case(
    "one of three, with an unreadable quorum-state",
    SEED,
    seed="n2",
    says=("the last epoch, vote and leader of n2",),
)
def _forgetful_alone(cluster: Cluster) -> list[Path]:
    return [forgetful(cluster.node("n2", history()))]
