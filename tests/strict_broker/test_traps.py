"""Each trap, set by a controller that breaks one rule: the broker falls into it and says so."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.stand_in_quorum import Answer, FlipByte, Slow, SnapshotId, WrongCorrelation, relabelled
from tests.stand_in_quorum.batches import (
    batch,
    control,
    kraft_version,
    leader_change,
    no_ops,
    voters,
)
from tests.stand_in_quorum.faults import Fault
from tests.stand_in_quorum.fetch import FetchAnswer
from tests.stand_in_quorum.frames import API_VERSIONS, FETCH, FETCH_SNAPSHOT
from tests.stand_in_quorum.log import Batch, split
from tests.stand_in_quorum.wire import Writer
from tests.strict_broker.broker import StrictBroker
from tests.strict_broker.conftest import BROKER, Brokers, new_snapshot, serve_snapshot
from tests.strict_broker.fake import (
    BROKER_ID_NOT_REGISTERED,
    OTHER_CLUSTER,
    STALE_BROKER_EPOCH,
    FakeController,
    Lies,
    feature,
    first_batches,
    record,
)
from tests.strict_broker.raft import Disk
from tests.strict_broker.releases import BROKER_HEARTBEAT, BROKER_REGISTRATION
from tests.strict_broker.traps import BrokenError, Trap

Break = Callable[[FakeController], object]
_ALWAYS = 10**6
_INVALID_REQUEST, _UNAUTHORIZED, _UNKNOWN, _NOT_FOUND = 42, 31, -1, 98


@dataclass(frozen=True)
class Row:
    """How a controller breaks a rule, from the start or once a broker runs."""

    trap: Trap
    name: str
    breaks: Break
    release: str = "4.3"
    has_voters: bool = True
    once_running: bool = False

    def __str__(self) -> str:
        return f"{self.trap.name}-{self.name}"


# Ways to break a rule


def fetch(fault: Fault | None = None, **fields: Any) -> Break:
    """Lie in each answer to Fetch."""
    return lambda fake: fake.fail(fault or Answer(**fields), key=FETCH, times=_ALWAYS)


def chunk(fault: Fault | None = None, *, after: int = 0, **fields: Any) -> Break:
    """Lie in each answer to FetchSnapshot, of a log that begins with a snapshot."""

    def breaks(fake: FakeController) -> None:
        serve_snapshot(fake, new_snapshot())
        fake.fail(fault or Answer(**fields), key=FETCH_SNAPSHOT, after=after, times=_ALWAYS)

    return breaks


def without_footer(fake: FakeController) -> None:
    batches = list(split(new_snapshot()))
    serve_snapshot(fake, b"".join(each.data for each in batches[:-1]))


def lies(**functions: Any) -> Break:
    """Lie about registrations, heartbeats or versions."""
    return lambda fake: setattr(fake, "lies", Lies(**functions))


def made(name: str, **fields: Any) -> Break:
    """Change fields of what is `answered` to a registration, or of what is `written`."""
    return lies(**{name: lambda found: replace(found, **fields)})


def beaten(**fields: Any) -> Break:
    return lies(beaten=lambda answer: replace(answer, **fields))


def log_of(*batches: Batch) -> Break:
    """Serve another log."""

    def breaks(fake: FakeController) -> None:
        with fake.change():
            fake.leader.log.batches[:] = batches
            fake.leader.high_watermark = fake.leader.log.end_offset

    return breaks


def more(make: Callable[[int], Batch]) -> Break:
    """Append a batch, made for its offset, which the quorum itself would not write."""

    def breaks(fake: FakeController) -> None:
        with fake.change():
            fake.leader.log.append([make(fake.leader.log.end_offset)])
            fake.leader.high_watermark = fake.leader.log.end_offset

    return breaks


def records(*made: tuple[bytes | None, bytes]) -> Break:
    return more(lambda offset: batch(offset, 1, made))


def control_records(*made: tuple[bytes, bytes]) -> Break:
    return more(lambda offset: control(offset, 1, *made))


def voters_at(listener: str) -> Break:
    """Let the log have the voters, with the name of their listener."""
    return lambda fake: control_records(kraft_version(1), voters(fake.voters, listener))(fake)


def levels(*features: tuple[None, bytes]) -> Break:
    return log_of(*first_batches(*features))


@dataclass(frozen=True)
class FirstBytes(Fault):
    """Answer with the first bytes of the records alone."""

    size: int

    def answer(self, answer: Any) -> Any:
        assert isinstance(answer, FetchAnswer)
        return replace(answer, records=answer.records[: self.size])


def rebatched(fake: FakeController) -> None:
    """Serve the same records in one batch instead of several, as after a careless restart."""
    log = fake.leader.log
    with fake.change():
        first, end = log.batches[0], log.end_offset
        log.batches[:] = [first, no_ops(first.end_offset, 1, end - first.end_offset + 2)]
        fake.leader.high_watermark = log.end_offset


def shifted(fake: FakeController) -> None:
    log = fake.leader.log
    with fake.change():
        log.batches[1] = relabelled(log.batches[1], log.batches[1].base_offset + 1, 1)
        fake.leader.high_watermark = log.end_offset


def without(key: int) -> Break:
    """Advertise all but one key."""
    return lies(versions=lambda found: {k: v for k, v in found.items() if k != key})


def only(key: int, versions: tuple[int, int]) -> Break:
    return lies(versions=lambda found: {**found, key: versions})


def refusal(message: bytes) -> Break:
    return lambda fake: fake.fail(Answer(message=message), key=API_VERSIONS, times=_ALWAYS)


def _change_of_another_epoch(epoch: int) -> tuple[None, bytes]:
    body = Writer(is_flexible=True).int32(BROKER).int64(epoch).tags({0: b"\1"}).done()
    return record(17, 0, body)


_OTHER = {9: ("localhost", 1)}
_THREE = {7: ("localhost", 1), 8: ("localhost", 1), **_OTHER}
_UNKNOWN_KEY = record(99, 0, b"\0")
_NEWER_REGISTRATION = record(0, 4, b"\0")
_TRAILING = record(12, 0, Writer(is_flexible=True).string("x").int16(1).tags().done() + b"\0")
_V5_REFUSAL = Writer(is_flexible=True).int16(35).count(0).int32(0).tags().done()
_NO_RANGE = Writer(is_flexible=False).int16(35).count(0).done()

ROWS = [
    Row(Trap.VERSION_MISSING, "no registrations", without(BROKER_REGISTRATION)),
    Row(Trap.VERSION_MISSING, "no heartbeats", without(BROKER_HEARTBEAT)),
    Row(Trap.VERSION_MISSING, "Fetch by name", only(FETCH, (4, 12))),
    Row(Trap.VERSION_REFUSAL, "layout", refusal(_V5_REFUSAL), release="trunk"),
    Row(Trap.VERSION_REFUSAL, "no range", refusal(_NO_RANGE), release="trunk"),
    Row(Trap.MALFORMED, "correlation", fetch(WrongCorrelation())),
    Row(Trap.INVALID_REQUEST, "Fetch", fetch(error=_INVALID_REQUEST)),
    Row(Trap.INVALID_REQUEST, "FetchSnapshot", chunk(error=_INVALID_REQUEST)),
    Row(Trap.UNAUTHORIZED, "Fetch", fetch(top_error=_UNAUTHORIZED)),
    Row(Trap.UNAUTHORIZED, "FetchSnapshot", chunk(top_error=_UNAUTHORIZED)),
    Row(Trap.OTHER_CLUSTER, "Fetch", fetch(top_error=OTHER_CLUSTER)),
    Row(Trap.OTHER_CLUSTER, "registration", made("answered", error=OTHER_CLUSTER, epoch=-1)),
    Row(Trap.UNEXPECTED_ERROR, "Fetch", fetch(error=_UNKNOWN)),
    Row(Trap.UNEXPECTED_ERROR, "no partition", fetch(top_error=_INVALID_REQUEST)),
    Row(Trap.NO_LEADER, "never", fetch(leader_id=-1, leader_epoch=-1)),
    Row(Trap.NO_LEADER, "later", fetch(leader_id=-1, leader_epoch=-1), once_running=True),
    Row(Trap.EPOCH_BEHIND, "running", fetch(leader_epoch=0), once_running=True),
    Row(Trap.LEADER_IS_THE_BROKER, "node id", fetch(leader_id=BROKER)),
    Row(Trap.TWO_LEADERS, "node id", fetch(leader_id=2), once_running=True),
    Row(Trap.LEADER_WITHOUT_ADDRESS, "bootstrap", fetch(endpoints=()), has_voters=False),
    Row(Trap.LEADER_WITHOUT_ADDRESS, "other id", fetch(leader_id=7, endpoints=())),
    Row(Trap.LEADER_NO_VOTER, "bootstrap", lambda fake: None, has_voters=False),
    Row(Trap.LEADER_NO_VOTER, "other listener", voters_at("OTHER"), has_voters=False),
    Row(Trap.LEADER_NO_VOTER, "other listener than configured", voters_at("OTHER")),
    Row(Trap.LEADER_NO_VOTER, "other voter", control_records(kraft_version(1), voters(_OTHER))),
    Row(
        Trap.LEADER_NO_VOTER,
        "without kraft.version",
        lambda fake: control_records(voters(fake.voters))(fake),
        has_voters=False,
    ),
    Row(
        Trap.VOTERS_APART,
        "two added",
        control_records(kraft_version(1), voters(_OTHER), voters(_THREE)),
    ),
    Row(Trap.VOTERS_APART, "two removed", control_records(voters(_THREE), voters(_OTHER))),
    Row(Trap.LEADER_NOT_FOUND, "none", fetch(error=6, leader_id=-1)),
    Row(Trap.LEADER_NOT_FOUND, "itself", fetch(error=6)),
    Row(Trap.WRONG_TOPIC, "Fetch", fetch(topic_id=bytes(16))),
    Row(Trap.WRONG_TOPIC, "FetchSnapshot", chunk(topic="orders")),
    Row(Trap.OFFSET, "gap", shifted),
    Row(Trap.OFFSET, "other boundaries", rebatched, once_running=True),
    Row(Trap.BATCH_CUT, "in its records", fetch(FirstBytes(70))),
    Row(Trap.BATCH_CUT, "in its header", fetch(FirstBytes(30))),
    Row(Trap.DAMAGED, "for ever", fetch(FlipByte(65))),
    Row(Trap.EPOCH_ORDER, "above", more(lambda offset: no_ops(offset, 9))),
    Row(Trap.EPOCH_ORDER, "below", more(lambda offset: no_ops(offset, 0))),
    Row(Trap.DIVERGING, "committed", fetch(diverging=(1, 1)), once_running=True),
    Row(Trap.DIVERGING_IN_VAIN, "beyond the end", fetch(diverging=(1, _ALWAYS))),
    Row(Trap.SNAPSHOT_OLD, "running", fetch(snapshot=SnapshotId(1, 1)), once_running=True),
    Row(Trap.SNAPSHOT_CHUNK, "position", chunk(position=7)),
    Row(Trap.SNAPSHOT_CHUNK, "later position", chunk(after=1, position=0)),
    Row(Trap.SNAPSHOT_CHUNK, "size", chunk(after=1, size=_ALWAYS)),
    Row(Trap.SNAPSHOT_CHUNK, "too small a size", chunk(size=5)),
    Row(Trap.SNAPSHOT_CHUNK, "snapshot", chunk(snapshot=SnapshotId(1, 1))),
    Row(Trap.SNAPSHOT_CHUNK, "nothing", chunk(data=b"")),
    Row(Trap.SNAPSHOT_GONE, "for ever", chunk(error=_NOT_FOUND)),
    Row(Trap.SNAPSHOT_INCOMPLETE, "no footer", without_footer),
    Row(Trap.NOT_COMMITTED, "never", fetch(high_watermark=-1)),
    Row(Trap.NOT_COMMITTED, "registration", lies(commits=False)),
    Row(Trap.HIGH_WATERMARK_BACK, "running", fetch(high_watermark=1), once_running=True),
    Row(Trap.BAD_RECORD, "unknown key", records(_UNKNOWN_KEY)),
    Row(Trap.BAD_RECORD, "newer version", records(_NEWER_REGISTRATION), release="4.0"),
    Row(Trap.BAD_RECORD, "trailing bytes", records(_TRAILING)),
    Row(Trap.BAD_RECORD, "with a key", records((b"key", _UNKNOWN_KEY[1]))),
    Row(Trap.CONTRADICTION, "epoch", records(_change_of_another_epoch(99)), once_running=True),
    Row(Trap.CONTRADICTION, "broker", records(_change_of_another_epoch(1))),
    Row(Trap.NO_METADATA_VERSION, "4.0", levels(feature("kraft.version", 1)), release="4.0"),
    Row(Trap.METADATA_VERSION, "above 3.9", levels(feature("metadata.version", 22)), release="3.9"),
    Row(Trap.METADATA_VERSION, "above 4.0", levels(feature("metadata.version", 26)), release="4.0"),
    Row(Trap.METADATA_VERSION, "below 4.0", levels(feature("metadata.version", 6)), release="4.0"),
    Row(Trap.NO_RECORDS, "leader alone", log_of(leader_change(0, 1, 1, [1]))),
    Row(Trap.NOT_REGISTERED, "features", made("answered", error=35, epoch=-1)),
    Row(Trap.NOT_REGISTERED, "id", made("answered", error=BROKER_ID_NOT_REGISTERED, epoch=-1)),
    Row(Trap.REGISTRATION_RECORD, "directories", made("written", directories=[])),
    Row(Trap.REGISTRATION_RECORD, "process", made("written", incarnation=bytes(16))),
    Row(Trap.BROKER_EPOCH, "none", made("answered", epoch=-1)),
    Row(Trap.HEARTBEAT_ERROR, "stale", beaten(error=STALE_BROKER_EPOCH)),
    Row(
        Trap.CAUGHT_UP_EARLY,
        "not committed",
        lies(commits=False, beaten=lambda answer: replace(answer, is_caught_up=True)),
    ),
    Row(Trap.NOT_CAUGHT_UP, "never", beaten(is_caught_up=False)),
    Row(Trap.UNFENCED_EARLY, "at once", beaten(is_fenced=False)),
    Row(Trap.NOT_UNFENCED, "never", beaten(is_fenced=True)),
    Row(Trap.NO_SHUTDOWN, "never", beaten(should_shut_down=False)),
]


async def _live(broker: StrictBroker) -> None:
    async with broker:
        await broker.start()
        await broker.shut_down()


@pytest.mark.parametrize("row", [row for row in ROWS if not row.once_running], ids=str)
async def test_broker_falls_into_the_trap(
    row: Row, fake: FakeController, broker_of: Brokers
) -> None:
    row.breaks(fake)
    with pytest.raises(BrokenError) as met:
        await _live(broker_of(row.release, has_voters=row.has_voters))
    assert met.value.trap is row.trap, met.value


@pytest.mark.parametrize("row", [row for row in ROWS if row.once_running], ids=str)
async def test_running_broker_falls_into_the_trap(
    row: Row, fake: FakeController, broker_of: Brokers
) -> None:
    async with broker_of(row.release) as broker:
        await broker.start()
        row.breaks(fake)
        with pytest.raises(BrokenError) as met:
            await broker.reach(_ALWAYS)
    assert met.value.trap is row.trap, met.value


def test_each_trap_has_a_row() -> None:
    assert {row.trap for row in ROWS} == set(Trap) - {Trap.LATE}


async def test_late_answer_is_a_trap(fake: FakeController, broker_of: Brokers) -> None:
    fetch(Slow(0.2))(fake)
    with pytest.raises(BrokenError) as met:
        await _live(broker_of(reply_s=0.1))
    assert met.value.trap is Trap.LATE


async def test_controller_that_lost_its_epoch_is_a_trap(
    fake: FakeController, broker_of: Brokers
) -> None:
    with pytest.raises(BrokenError) as met:
        await _live(broker_of(disk=Disk(epoch=5)))
    assert met.value.trap is Trap.EPOCH_BEHIND


async def test_broker_epoch_of_another_broker_is_a_trap(
    fake: FakeController, broker_of: Brokers
) -> None:
    async with broker_of() as other:
        epoch = (await other.start()).epoch
        made("written", epoch=epoch)(fake)
        with pytest.raises(BrokenError) as met:
            await _live(broker_of(node_id=101))
    assert met.value.trap is Trap.BROKER_EPOCH
