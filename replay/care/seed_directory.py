"""Writes the seed: the directory from which a cluster that lost its quorum is restarted.

Static quorum: the log, byte for byte up to the end of its last intact batch. Dynamic quorum: only a
checkpoint that lists the controller that will run the seed as the sole voter. Log segments would
bring back the old voters.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from metadata_log.kraft.checkpoint_writer import write_checkpoint
from metadata_log.kraft.directory import KraftDirectory, open_directory
from metadata_log.kraft.new_directory import new_directory
from metadata_log.kraft.quorum import seed_files
from metadata_log.kraft.quorum.facts import LogEnd, NodeFacts
from metadata_log.kraft.quorum.node_facts import read_facts
from metadata_log.kraft.quorum.rule import Verdict
from metadata_log.kraft_format.names import checkpoint_name
from records.base import Record, Uuid
from records.brokers import RegisterBrokerRecord
from records.control import (
    KRaftVersionFeature,
    KRaftVersionRecord,
    QuorumVoter,
    VoterEndpoint,
    VotersRecord,
)
from records.errors import RequestError
from records.registry import CONTROL_TYPES
from records.text import parse_uuid, uuid_text
from replay.image.metadata import MetadataImage
from replay.image.parts import METADATA_VERSION
from replay.image.records import image_records
from replay.incidents.directory_events import DirectoryLog
from replay.loader import load_image
from replay.time_travel.contradictions import explained

RecordVersion = Callable[[Record, int], int]
"""Returns the layout version of a record at a metadata.version."""


class Runner(msgspec.Struct, frozen=True, kw_only=True):
    """The controller that will run the seed. `endpoints` are needed only in a dynamic quorum."""

    node_id: int
    directory_id: str | None
    endpoints: tuple[VoterEndpoint, ...] = ()


class SeedWritten(msgspec.Struct, frozen=True, kw_only=True):
    """A written seed: it contains everything below `end_offset`."""

    end_offset: int
    leader_epoch: int
    node_id: int
    directory_id: str | None


def runner_of(
    verdict: Verdict,
    nodes: Sequence[NodeFacts],
    node_id: int | None = None,
    endpoints: tuple[VoterEndpoint, ...] = (),
) -> Runner:
    """Return the controller that is to run the seed.

    If `node_id` is None, chooses the voter whose directory becomes the seed; if that directory is
    not a voter's, the voter with the latest log end.

    Raises:
        RequestError: `node_id` is None, and no directory of a voter was given.
    """
    seed, voters = verdict.seed, verdict.voters
    assert seed is not None and voters is not None
    if node_id is None:
        members = [node for node in nodes if node.is_voter_of(voters) and node.end is not None]
        own = [node for node in members if node is seed]
        chosen = own or sorted(members, key=lambda node: node.end or LogEnd(-1, 0))[-1:]
        if not chosen or chosen[0].node_id is None:
            raise RequestError(
                "INVALID_REQUEST",
                f"{seed.name} is not the directory of a voter; give the id of the controller that "
                "will run the seed by --node",
            )
        return Runner(
            node_id=chosen[0].node_id, directory_id=chosen[0].directory_id, endpoints=endpoints
        )
    known = [node.directory_id for node in nodes if node.node_id == node_id]
    return Runner(node_id=node_id, directory_id=known[0] if known else None, endpoints=endpoints)


def write_seed(
    verdict: Verdict,
    runner: Runner,
    target: Path,
    *,
    record_version: RecordVersion,
) -> SeedWritten:
    """Write a new directory for the seed of a verdict; on failure nothing is left at `target`.

    Raises:
        RequestError: `target` exists; the log has records that a checkpoint would lose; or the
            endpoints of the runner are not known.
        UnavailableError: the source changed meanwhile.
    """
    seed = verdict.seed
    assert seed is not None and seed.end is not None and seed.cluster_id is not None
    if verdict.is_dynamic and runner.directory_id is None:
        runner = msgspec.structs.replace(runner, directory_id=_new_directory_id())
    created = new_directory(
        target, seed.cluster_id, node_id=runner.node_id, directory_id=runner.directory_id
    )
    with created as partition:
        seed_files.copy_log(open_directory(Path(seed.name)), seed, partition)
        if verdict.is_dynamic:
            _become_checkpoint(partition, seed, runner, record_version)
        seed_files.write_quorum_state(
            partition,
            leader_epoch=verdict.leader_epoch,
            voter_id=runner.node_id,
            is_dynamic=verdict.is_dynamic,
        )
        written = read_facts(partition.parent)
        assert written.end is not None
        if not verdict.is_dynamic and written.end != seed.end:
            raise RequestError("LOG_CHANGED", f"{seed.name} changed while it was copied; try again")
        seed_files.write_leader_epochs(partition, written.batches)
    return SeedWritten(
        end_offset=written.end.end_offset,
        leader_epoch=verdict.leader_epoch,
        node_id=runner.node_id,
        directory_id=runner.directory_id,
    )


def _become_checkpoint(
    partition: Path, seed: NodeFacts, runner: Runner, record_version: RecordVersion
) -> None:
    """Replace a copied log by one checkpoint at its end, with the runner as the sole voter."""
    assert seed.end is not None
    copied = open_directory(partition)
    # An open transaction is left out: a new leader would abort it.
    end_offset = seed.end.end_offset if seed.transaction_start is None else seed.transaction_start
    log = DirectoryLog(copied, end_offset)
    with explained(log):
        image = load_image(log, end_offset - 1)
    if image.provenance.not_understood is not None:
        raise RequestError(
            "UNSUPPORTED_RECORD",
            f"{seed.name} holds {image.provenance.not_understood.records} records that this "
            "release does not understand, and a checkpoint would lose them; use a newer release",
        )
    voters = VotersRecord(version=0, voters=(_voter(copied, image, runner),))
    leader_epoch = image.provenance.leader_epoch
    part = partition / "checkpoint.part"
    write_checkpoint(
        part,
        _records(image, record_version),
        leader_epoch=leader_epoch,
        timestamp=image.provenance.timestamp,
        control=(KRaftVersionRecord(version=0, kraft_version=1), voters),
    )
    for path in partition.iterdir():
        if path != part:
            path.unlink()
    part.rename(partition / checkpoint_name(end_offset, leader_epoch))


def _records(image: MetadataImage, record_version: RecordVersion) -> Iterator[tuple[Record, int]]:
    level = image.feature(METADATA_VERSION) or 1
    for record, version in image_records(image):
        if type(record) in CONTROL_TYPES:
            continue
        is_broker = isinstance(record, RegisterBrokerRecord)
        yield record, version if is_broker else record_version(record, level)


def _voter(log: KraftDirectory, image: MetadataImage, runner: Runner) -> QuorumVoter:
    """Return the runner as a voter.

    The endpoints are taken from `runner`, else from the voter records, else from the controller's
    registration.

    Raises:
        RequestError: none of these has endpoints.
    """
    assert runner.directory_id is not None
    endpoints = runner.endpoints or _endpoints_of_voter(log, runner.node_id)
    controller = image.controller(runner.node_id)
    if not endpoints and controller is not None:
        endpoints = tuple(
            VoterEndpoint(name=each.name, host=each.host, port=each.port)
            for each in controller.end_points
        )
    if not endpoints:
        raise RequestError(
            "INVALID_REQUEST",
            f"the log does not name the endpoints of node {runner.node_id}; give them by "
            "--endpoint NAME=HOST:PORT, with the name of its controller listener",
        )
    feature = KRaftVersionFeature(min_supported_version=0, max_supported_version=1)
    return QuorumVoter(
        voter_id=runner.node_id,
        voter_directory_id=parse_uuid(runner.directory_id),
        endpoints=endpoints,
        kraft_version_feature=feature,
    )


def _endpoints_of_voter(log: KraftDirectory, node_id: int) -> tuple[VoterEndpoint, ...]:
    found: tuple[VoterEndpoint, ...] = ()
    newest = log.checkpoints[-1:]
    for batch in (*(batch for each in newest for batch in each.batches()), *log.batches()):
        for row in batch.rows if batch.is_control else ():
            if isinstance(row.payload, VotersRecord):
                named = [v.endpoints for v in row.payload.voters if v.voter_id == node_id]
                found = named[0] if named else ()
    return found


def _new_directory_id() -> str:
    while True:
        # Kafka makes no id that begins with a dash, because commands would take it for an option.
        found = uuid_text(Uuid(uuid.uuid4().bytes))
        if not found.startswith("-"):
            return found
