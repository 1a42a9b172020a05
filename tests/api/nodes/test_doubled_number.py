"""Two nodes that were started with the same number, each with a folder of its own."""

import asyncio
from pathlib import Path

from controller.authorization.caller import CONTROLLER
from tests.api.nodes.group import WAIT_S, Group, Member
from tests.shared_log.memory import MemoryStore


async def _renewed(store: MemoryStore) -> None:
    """Wait until the lease has been written twice more: time enough for who wants it."""
    seen = {store.lease}
    async with asyncio.timeout(WAIT_S):
        while len(seen) < 3:
            await asyncio.sleep(0.01)
            seen.add(store.lease)


async def test_one_of_them_leads_and_the_other_follows(tmp_path: Path) -> None:
    """The lease and the claims know processes, not numbers."""
    twins = Group(tmp_path, count=1)
    (first,) = twins.members
    second = Member(tmp_path / "doubled", twins.store, first.number)
    twins.members.append(second)
    first.start()
    await twins.leader()
    second.start()
    service = await second.serves()
    for name in ("a", "b", "c"):
        await first.create(name)
    await _renewed(twins.store)
    assert (first.leads, second.leads) == (True, False)
    await first.stop()
    assert await twins.leader() is second
    end = (await second.create("d")).end_offset
    assert {each.name for each in service.image.namespaces()} == {"a", "b", "c", "d"}
    first.start()
    await (await first.serves()).answers.holds(end - 1, CONTROLLER)
    assert (first.leads, second.leads) == (False, True)
    await twins.stop()
    one, other = [
        {path.name: path.read_bytes() for path in member.directory.glob("*.avro")}
        for member in twins.members
    ]
    assert one == other
