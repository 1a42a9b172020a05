"""How an operator recovers a lost quorum, by verdict, kind of quorum and version of Kafka.

Source: KIP-853, KIP-630, QuorumState of Kafka 3.3 to 3.9, docs/operations/kraft.md of Kafka 4.1.
"""

from collections.abc import Iterator, Sequence

from metadata_log.kraft.quorum.facts import NodeFacts
from metadata_log.kraft.quorum.rule import REFUSED, SEED, Verdict
from records.errors import ContradictionError

KafkaVersion = tuple[int, int]

_STATE_IS_CHECKED_UNTIL: KafkaVersion = (3, 7)
_UPGRADE_SINCE: KafkaVersion = (4, 1)

_STATUS = "kafka-metadata-quorum.sh --bootstrap-controller HOST:PORT describe --status"
_COPY_FIRST = "stop all controllers, then copy every metadata directory to a safe place"


def steps(
    verdict: Verdict, nodes: Sequence[NodeFacts], kafka: KafkaVersion | None = None
) -> list[str]:
    """Return the operator's steps after a verdict, in order.

    Args:
        kafka: The cluster's version; if None, the steps of all versions are given where they
            differ.
    """
    if verdict.verdict == REFUSED:
        return list(_refused())
    if verdict.verdict == SEED:
        return list(_before(verdict)) + list(_dynamic() if verdict.is_dynamic else _static(kafka))
    return list(_start_them(verdict, nodes))


def steps_before_loading(
    node: NodeFacts | None, contradiction: ContradictionError | None
) -> Iterator[str]:
    """Yield the steps to take first, if Kafka cannot load a record of the chosen log.

    Args:
        node: The directory whose log is to be loaded.
        contradiction: The error for that record; None if the log has no contradiction.
    """
    if node is None or contradiction is None or contradiction.record is None:
        return
    offset = contradiction.record.offset
    yield (
        f"Kafka reports an error loading the record at offset {offset}, and stops. Run a release "
        "in which that is mended; or go back to the state before it, and lose all from there on: "
        f"metalog import kraft {node.name} LOG, then metalog export kraft LOG NEW --at "
        f"{offset - 1} --as checkpoint, and use NEW in place of {node.name} below"
    )


def _refused() -> Iterator[str]:
    yield "keep all controllers stopped, and start none from these directories yet"
    yield "copy every metadata directory, also those of brokers, and name them all"
    yield "mend what the reason says, then run advise again"


def _start_them(verdict: Verdict, nodes: Sequence[NodeFacts]) -> Iterator[str]:
    voters = verdict.voters
    assert voters is not None
    members = [node for node in nodes if node.is_voter_of(voters)]
    good = [node for node in members if node.can_start]
    yield (
        f"start the controllers of {', '.join(node.name for node in good)}; do not format, and do "
        "not change the voters: either would do harm"
    )
    for node in members:
        if not node.can_start:
            yield (
                f"do not start {node.name} yet; when there is a leader, move its "
                "__cluster_metadata-0 away and let it fetch everything anew"
            )
    for node in good:
        if node.bad_state is not None:
            yield (
                f"start {node.name} last, best when there is a leader: Kafka clears an unreadable "
                "quorum-state, and a node that forgot its vote may vote twice in one epoch"
            )
    if verdict.is_dynamic:
        yield (
            "the voters find each other by the endpoints in the log: if host names have changed, "
            "make the old ones resolve until there is a leader"
        )
    else:
        yield "if host names have changed, correct controller.quorum.voters on every node"
    yield f"check with {_STATUS}"


def _before(verdict: Verdict) -> Iterator[str]:
    missing = ", ".join(str(voter.voter_id) for voter in verdict.lost_voters)
    yield (
        f"make sure that the lost controllers ({missing or 'none'}) are down and stay down: with a "
        "leader among them there would be two clusters"
    )
    yield _COPY_FIRST
    yield (
        "expect: topics created in lost records become stray directories on brokers (renamed, not "
        "deleted), topics deleted in them come back, and broker epochs, producer ids and partition "
        "leader epochs may be used a second time"
    )
    accept = "" if verdict.certain else " --accept-loss"
    yield f"write the seed's directory: advise DIR... --write NEW --lost-are-down{accept}"


def _static(kafka: KafkaVersion | None) -> Iterator[str]:
    yield "make the new directory the seed's metadata.log.dir (or the first of its log.dirs)"
    yield ("set controller.quorum.voters to the seed alone, on all controllers and on all brokers")
    yield "start the seed: a sole voter elects itself at once"
    if kafka is None or kafka <= _STATE_IS_CHECKED_UNTIL:
        until = "" if kafka else " (needed up to Kafka 3.7, harmless later)"
        yield (
            "on each broker, one by one: stop it, move __cluster_metadata-0/quorum-state away, "
            f"start it{until}: its voters differ from the setting, so it would refuse to start"
        )
    else:
        yield (
            "restart the brokers one by one; one that does not follow the seed has records which "
            "the seed lacks: move its __cluster_metadata-0 away"
        )
    if kafka is not None and kafka >= _UPGRADE_SINCE:
        yield (
            "to grow: upgrade kraft.version to 1 (kafka-features.sh upgrade --feature "
            "kraft.version=1), then format new controllers with --no-initial-controllers, start "
            "them, and add each with kafka-metadata-quorum.sh add-controller"
        )
    else:
        yield (
            "to grow: stop the seed; copy its __cluster_metadata-0 without quorum-state to freshly "
            "formatted controllers of the same cluster id; name all voters in "
            "controller.quorum.voters everywhere; start all. Never start two empty voters beside "
            "one full one: they can elect each other"
        )
    yield f"check with {_STATUS}"


def _dynamic() -> Iterator[str]:
    yield (
        "make the new directory the seed's metadata.log.dir (or the first of its log.dirs); it "
        "holds one checkpoint with the seed as the sole voter, and no segment"
    )
    yield (
        "set controller.quorum.bootstrap.servers to the seed on all nodes, and remove "
        "controller.quorum.voters"
    )
    yield "start the seed: a sole voter elects itself at once"
    yield (
        "other controllers, one by one: move __cluster_metadata-0 away, or format anew with "
        "--no-initial-controllers; start; wait until it has caught up; then run "
        "kafka-metadata-quorum.sh add-controller with that controller's own configuration"
    )
    yield ("brokers, one by one: stop, move __cluster_metadata-0 away (topic data stays), start")
    yield "lost nodes return only with an emptied metadata directory"
    yield f"check with {_STATUS}"
