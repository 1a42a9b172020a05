"""What happens to nodes, their machines and their store in a schedule."""

import asyncio
from collections.abc import Callable
from random import Random

from api.nodes.membership import CLOCK_OFF_MS
from controller.authorization.caller import CONTROLLER
from metadata_log.format.batch import NewBatch
from records.configs import FeatureLevelRecord
from tests.simulated_disk.loop import SimulatedLoop
from tests.simulated_nodes.clients import Clients
from tests.simulated_nodes.full_disk import WAYS
from tests.simulated_nodes.machine import SimulatedNode, Store

FEATURE = "of.the.next.release"

Operation = Callable[[SimulatedNode, Random], None]


class Faults:
    """Operations of schedules; each gets a node and a source of random choices.

    What happened is counted in the store's `events`.
    """

    def __init__(
        self, nodes: list[SimulatedNode], store: Store, clients: Clients, loop: SimulatedLoop
    ) -> None:
        self._nodes = nodes
        self._store = store
        self._clients = clients
        self._loop = loop
        self._events = store.events

    def weighted(self) -> list[Operation]:
        """Return the operations, each as often as its weight says."""
        weights: dict[Operation, int] = {
            self.cut: 1,
            self.slow: 2,
            self.lose: 6,
            self.lose_lease: 2,
            self.isolate: 1,
            self.kill: 1,
            self.lose_power: 1,
            self.stop: 1,
            self.start: 4,
            self.stand_alone: 3,
            self.set_clock: 2,
            self.pause: 2,
            self.fill_disk: 2,
            self.retain: 2,
            self.take_turns: 1,
            self.remove: 1,
            self.use_next_release: 2,
            self.open_transaction: 1,
            self.ask: 5,
        }
        return [operation for operation, weight in weights.items() for _ in range(weight)]

    def _leader(self, node: SimulatedNode) -> SimulatedNode:
        """Return a node that leads; if there is none, the given one."""
        return next((each for each in self._nodes if each.leads), node)

    def _often_leader(self, node: SimulatedNode, random: Random) -> SimulatedNode:
        """Return a node that leads half of the time, and else the given one."""
        return random.choice((node, self._leader(node)))

    def _count(self, what: str, node: SimulatedNode) -> None:
        self._events[what] += 1
        self._events[f"{what}, of a leader"] += node.leads

    def cut(self, node: SimulatedNode, random: Random) -> None:
        node.log.is_cut = not node.log.is_cut
        if node.log.is_cut:
            self._count("cut", node)

    def slow(self, node: SimulatedNode, random: Random) -> None:
        node.log.delay_s = random.choice((0.0, 0.05, 0.3, 1.2))
        if node.log.delay_s:
            self._count("slow", node)

    def lose(self, node: SimulatedNode, random: Random) -> None:
        """Let something happen to the next write of a leader, or to the claim of another node."""
        at = self._often_leader(node, random)
        at.log.fates.append(random.choice(self._store.FATES))

    def lose_lease(self, node: SimulatedNode, random: Random) -> None:
        """Let something happen to the next writes of the lease, also of a node that wants it."""
        for each in self._nodes:
            if each.leads or each is node:
                each.log.lease_fates.append(random.choice(self._store.LEASE_FATES))

    def isolate(self, node: SimulatedNode, random: Random) -> None:
        """Cut a leader off in the middle of an append, until others have gone on and trimmed.

        An operator takes it off the list meanwhile.
        """
        for each in self._nodes:
            if each.leads:
                link, number = each.log, each.number
                link.fates.insert(0, random.choice(self._store.LOST_FATES))
                self._loop.call_later(random.uniform(0.1, 1.9), setattr, link, "is_cut", True)
                self._loop.call_later(2.5, self._store.forget_member, number)
                self._loop.call_later(random.uniform(4, 12), link.heal)
                self._events["isolated"] += 1

    def kill(self, node: SimulatedNode, random: Random) -> None:
        if node.runs:
            self._count("killed", node)
        node.end(loses_power=False)

    def lose_power(self, node: SimulatedNode, random: Random) -> None:
        if node.runs:
            self._count("power lost", node)
        node.end(loses_power=True)

    def stop(self, node: SimulatedNode, random: Random) -> None:
        if node.runs:
            self._count("stopped", node)
        node.stop()

    def start(self, node: SimulatedNode, random: Random) -> None:
        if not node.runs:
            node.start()

    def stand_alone(self, node: SimulatedNode, random: Random) -> None:
        """Take the store's standbys away; then they come back, or one of them takes over."""
        self._store.is_alone = True
        ends = random.choice((self._store.come_back, self._store.fail_over, self._store.fail_over))
        self._loop.call_later(random.choice((0.3, 1.0, 4.0)), ends)

    def set_clock(self, node: SimulatedNode, random: Random) -> None:
        # By some seconds, or by more than a leader's clock may be wrong.
        node = self._often_leader(node, random)
        node.clocks.jump(random.randrange(-10, 10) * random.choice((1, 20)))
        self._count("clock jumped", node)
        if abs(node.clocks.off_ms) > CLOCK_OFF_MS:
            self._count("clock off", node)

    def pause(self, node: SimulatedNode, random: Random) -> None:
        """Stop a process for a while; perhaps another node leads when it goes on."""
        node = self._often_leader(node, random)
        if node.runs and not node.is_paused:
            self._count("paused", node)
            node.pause()
            self._loop.call_later(
                random.choice((0.5, 2.0, 5.0, 12.0)), self._resume, node, node.lives
            )

    def _resume(self, node: SimulatedNode, life: int) -> None:
        if node.lives == life and node.is_paused:
            service, epoch = node.service, self._store.end.epoch
            if service is not None and service.is_active and service.controller_epoch < epoch:
                self._events["paused leader was overtaken"] += 1
            node.resume()

    def fill_disk(self, node: SimulatedNode, random: Random) -> None:
        """Leave a node no room on its disk for a while."""
        node = self._often_leader(node, random)
        way = random.choice(list(WAYS))
        WAYS[way](node.disk, random)
        self._count(way, node)
        self._loop.call_later(random.choice((0.5, 2.0, 5.0, 12.0)), node.make_room)

    def retain(self, node: SimulatedNode, random: Random) -> None:
        """Drop old segments of a node that may be about to lead."""
        if node.runs and not node.is_paused:
            self._events["retained"] += node.retain() > 0

    def take_turns(self, node: SimulatedNode, random: Random) -> None:
        """Let every node drop what it may right after a take-over, and the next one follow."""
        self._loop.create_task(self._turns(random))

    async def _turns(self, random: Random) -> None:
        for _ in range(2):
            ended = next((each for each in self._nodes if each.leads), None)
            if ended is None:
                return
            ended.end(loses_power=False)
            for _ in range(60):
                await asyncio.sleep(0.05)
                if any(each.leads for each in self._nodes):
                    self._events["retained beside a take-over"] += 1
                    break
            for each in self._nodes:
                self.retain(each, random)
            if not ended.runs:
                ended.start()

    def remove(self, node: SimulatedNode, random: Random) -> None:
        """Take the nodes that do nothing off the list, as an operator does for good."""
        for each in self._nodes:
            if each.is_paused or each.log.is_cut or not each.runs:
                self._store.forget_member(each.number)

    def use_next_release(self, node: SimulatedNode, random: Random) -> None:
        """Write what only the next release understands, if a node of it leads."""
        node = self._leader(node)
        service = node.service
        if service is not None and node.leads and FEATURE in node.release.levels:
            level = FeatureLevelRecord(name=FEATURE, feature_level=1)
            batch = NewBatch(records=(level,))
            task = self._loop.create_task(
                node.call(lambda _: service.append(batch, caller=CONTROLLER))
            )
            task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def open_transaction(self, node: SimulatedNode, random: Random) -> None:
        """Let the leader begin a transaction, and end it after a while; perhaps a node starts."""
        for each in self._nodes:
            if each.leads:
                # Heartbeats wait meanwhile, so it is shorter than a session, as it has to be.
                open_s = random.choice((0.1, 0.5, 1.0))
                self._loop.create_task(self._clients.transaction(each, open_s))
                self._events["transaction"] += 1
                if node is not each and random.random() < 0.5:
                    self._events["started beside a transaction"] += 1
                    self.kill(node, random)
                    self._loop.call_later(random.uniform(0, open_s), self.start, node, random)

    def ask(self, node: SimulatedNode, random: Random) -> None:
        for _ in range(random.randrange(1, 5)):
            self._loop.create_task(self._clients.ask(Random(random.randrange(2**32))))
