"""A broker of each release starts and stops beside a controller that keeps the rules."""

import pytest

from tests.stand_in_quorum import Answer, FlipByte
from tests.stand_in_quorum.batches import batch, control, kraft_version, no_ops, voters
from tests.stand_in_quorum.frames import FETCH, FETCH_SNAPSHOT
from tests.stand_in_quorum.wire import Writer
from tests.strict_broker.conftest import Brokers, new_snapshot, serve_snapshot
from tests.strict_broker.fake import FakeController, feature, first_batches, record
from tests.strict_broker.raft import Disk
from tests.strict_broker.releases import RELEASES


@pytest.mark.parametrize("release", RELEASES)
async def test_broker_starts_and_stops(release: str, broker_of: Brokers) -> None:
    async with broker_of(release) as broker:
        found = await broker.start()
        assert not found.is_fenced
        assert not (await broker.beat()).should_shut_down
        await broker.shut_down()


async def test_broker_with_bootstrap_servers_alone_finds_the_voters_in_the_log(
    fake: FakeController, broker_of: Brokers
) -> None:
    others = {2: ("localhost", 1), 3: ("localhost", 1)}
    records = [
        voters({**others, 4: ("localhost", 1)}),
        voters({**others, **fake.voters}),
        voters(fake.voters | {2: ("localhost", 1)}),
    ]
    end = fake.leader.log.end_offset
    fake.append([control(end, 1, kraft_version(1), *records)])
    async with broker_of(has_voters=False) as broker:
        await broker.start()
        await broker.shut_down()


async def test_broker_begins_with_a_snapshot(fake: FakeController, broker_of: Brokers) -> None:
    serve_snapshot(fake, new_snapshot())
    async with broker_of() as broker:
        await broker.start()
        assert broker.disk.snapshot is not None
    assert len(fake.asked(FETCH_SNAPSHOT)) == -(-len(new_snapshot()) // 100)


async def test_broker_starts_again_where_its_log_ends_after_an_election(
    fake: FakeController, broker_of: Brokers
) -> None:
    disk = Disk()
    async with broker_of(disk=disk) as broker:
        first = await broker.start()
        await broker.shut_down()
    fake.elect(1)
    fake.append([no_ops(fake.leader.log.end_offset, fake.leader.epoch)])
    async with broker_of(disk=disk) as broker:
        assert (await broker.start()).epoch > first.epoch
    assert disk.epoch == fake.leader.epoch == 2


async def test_running_broker_follows_an_election_and_drops_what_was_not_committed(
    fake: FakeController, broker_of: Brokers
) -> None:
    async with broker_of() as broker:
        await broker.start()
        committed = fake.leader.log.end_offset
        fake.append([no_ops(committed, 1)], commit=False)
        while broker.disk.end_offset == committed:
            await broker.raft.news()
        fake.elect(1, end_offset=committed)
        fake.append([no_ops(fake.leader.log.end_offset, fake.leader.epoch, 4)])
        await broker.reach(fake.leader.log.end_offset - 1)
        assert broker.disk.last_epoch == 2


async def test_one_damaged_answer_is_asked_for_again(
    fake: FakeController, broker_of: Brokers
) -> None:
    fake.fail(FlipByte(65), key=FETCH, after=1)
    async with broker_of() as broker:
        await broker.start()


async def test_leader_may_be_unknown_for_a_while(fake: FakeController, broker_of: Brokers) -> None:
    fake.fail(Answer(error=6, leader_id=-1), key=FETCH, times=5)
    async with broker_of() as broker:
        await broker.start()


async def test_batch_above_the_size_that_a_broker_asks_for_comes_whole(
    fake: FakeController, broker_of: Brokers
) -> None:
    size = RELEASES["4.3"].fetch_size_bytes
    config = Writer(is_flexible=True).int8(2).string("t").string("k").string("v" * size)
    fake.append([batch(fake.leader.log.end_offset, 1, [record(4, 0, config.tags().done())])])
    async with broker_of("4.3") as broker:
        await broker.start()
        assert max(len(each.data) for each in broker.disk.batches) > size


async def test_broker_of_3_9_needs_no_metadata_version(
    fake: FakeController, broker_of: Brokers
) -> None:
    with fake.change():
        fake.leader.log.batches[:] = first_batches(feature("kraft.version", 1))
        fake.leader.high_watermark = fake.leader.log.end_offset
    async with broker_of("3.9") as broker:
        await broker.load()
        assert broker.raft.image.features == {"kraft.version": 1}
