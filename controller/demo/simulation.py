"""The simulation: in each time step brokers, controller and operators act.

All choices come from the seed, and concurrent events are submitted in a fixed order, so equal
options give equal records, origins and times.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random

from controller.controller import Controller
from controller.decisions.brokers.heartbeats import fence_stale_broker, stale_reason
from controller.decisions.config_definitions.brokers import DEFAULT_REPLICATION_FACTOR
from controller.decisions.context.context import Settings
from controller.decisions.levels import METADATA_VERSION
from controller.decisions.partitions.elections import balance_leaders
from controller.decisions.topics.partition_removal import advance_removals
from controller.decisions.topics.topics import NewTopic
from controller.demo.clock import SimulatedClock
from controller.demo.events import Event, own_event
from controller.demo.operations import new_topic, ordinary_event, topic_creation
from controller.demo.options import DemoOptions, DemoSummary, Progress
from controller.demo.people import controller_origin
from controller.demo.replication import deletion_reports, isr_changes
from controller.demo.stories import FIRST_STORY, STORIES, Story
from controller.demo.world import World
from controller.pipeline.log_port import LogPort
from controller.placement.striped import StripedPlacer
from records.errors import RequestError
from replay.image.metadata import MetadataImage

START_LEVELS = {METADATA_VERSION: 21}
"""Feature levels at the start, low enough to show an upgrade."""

_SECOND_MS = 1_000
_MINUTE_MS = 60 * _SECOND_MS

# Intervals for preferred leader elections and partition removals; Kafka's.
_HOUSEKEEPING_INTERVAL_MS = 5 * _MINUTE_MS

_BETWEEN_EVENTS_MS = 40
_TOPICS_IN_A_REQUEST = 10
_CYCLE_CHANGES = 2_000
_INTERNAL_TOPIC = NewTopic(
    name="__consumer_offsets",
    partitions=50,
    configs=(("cleanup.policy", "compact"), ("segment.bytes", "104857600")),
)


def demo_settings(options: DemoOptions, cluster_id: str) -> Settings:
    """Return the settings of the demo's controller."""
    return Settings(
        cluster_id=cluster_id,
        static_configs={DEFAULT_REPLICATION_FACTOR: str(options.replication_factor)},
        # Kafka's defaults, so that a demo looks like the history of a real cluster.
        placer=StripedPlacer(),
    )


def demo_controller(
    log: LogPort,
    image: MetadataImage,
    *,
    clock: SimulatedClock,
    options: DemoOptions,
    settings: Settings,
) -> Controller:
    """Return a controller whose ids and placements come from the demo's seed."""
    rng = Random(f"controller {options.seed}")
    return Controller(log, image, clock=clock, rng=rng, settings=settings)


async def run_demo(
    controller: Controller,
    clock: SimulatedClock,
    options: DemoOptions,
    progress: Progress | None = None,
) -> DemoSummary:
    """Activate the controller and write a simulated history with it.

    Args:
        clock: The clock of controller and log.
        progress: Called after each step.

    Raises:
        RequestError: INVALID_REQUEST, the options are invalid; NOT_CONTROLLER, the log failed.
    """
    options = options.checked()
    start_ms = clock.now_ms()
    await controller.activate(START_LEVELS)
    world = World(controller, clock, options, Random(f"world {options.seed}"))
    simulation = _Simulation(world)
    await simulation.set_up()
    await simulation.run(progress or (lambda _done, _total: None))
    return DemoSummary(
        changes=dict(sorted(simulation.changes.items())),
        start_ms=start_ms,
        end_ms=clock.now_ms(),
        end_offset=controller.image.provenance.next_offset,
    )


_BALANCING = own_event(
    "leaders balanced",
    balance_leaders,
    controller_origin("balance leaders", "partitions are not led by their preferred replica"),
)
_REMOVING = own_event(
    "partition removals",
    advance_removals,
    controller_origin("advance removals", "partitions wait for removal"),
)


class _Simulation:
    """Advances the demo step by step.

    `changes` counts the events of each kind that wrote records.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        reason = stale_reason(world.controller.settings.session_timeout_ms)
        self._fencing = own_event(
            "brokers fenced", fence_stale_broker, controller_origin("fence stale broker", reason)
        )
        self._story: Story = iter(())
        self._next_housekeeping_ms = 0
        self._end_offset = world.image.provenance.next_offset
        self.changes: Counter[str] = Counter()

    async def set_up(self) -> None:
        """Start the brokers and create the first topics."""
        world = self._world
        for broker in world.brokers.values():
            broker.start()
        while len(world.serving()) < len(world.brokers):
            await self._step(people=False)
        topics = [new_topic(world) for _ in range(world.options.topics)]
        requests = [(_INTERNAL_TOPIC,)] + [
            tuple(topics[start : start + _TOPICS_IN_A_REQUEST])
            for start in range(0, len(topics), _TOPICS_IN_A_REQUEST)
        ]
        reason = "the cluster goes into service"
        await self._submit(
            [topic_creation(r, world.people.asks("topics create", reason)) for r in requests]
        )

    async def run(self, progress: Progress) -> None:
        """Advance until there are enough changes."""
        wanted = self._world.options.changes
        before = self.changes.total()
        stories = _schedule(wanted)
        at, story = next(stories)
        goes_on = False
        while (done := self.changes.total() - before) < wanted:
            if not goes_on and done >= at:
                self._story = story(self._world)
                at, story = next(stories)
            goes_on = await self._step(people=True)
            progress(done, wanted)
        progress(wanted, wanted)

    async def _step(self, *, people: bool) -> bool:
        """Advance time and let all parts act once; return True if the current story continues."""
        world = self._world
        world.clock.advance(self._elapsed_ms())
        await self._submit(self._broker_events())
        while await self._submit([self._fencing]):
            pass
        story = next(self._story, None)
        events = [*self._housekeeping(), *isr_changes(world), *deletion_reports(world)]
        if people:
            events.extend(self._ordinary_events())
        await self._submit([*events, *(story or [])])
        return story is not None

    def _elapsed_ms(self) -> int:
        """Return the length of the next step: seconds while brokers start or stop, else minutes."""
        if self._world.is_unsettled():
            return self._world.rng.randrange(2 * _SECOND_MS, 5 * _SECOND_MS)
        return self._world.rng.randrange(_MINUTE_MS, 30 * _MINUTE_MS)

    def _broker_events(self) -> list[Event]:
        world = self._world
        metadata_offset = world.image.provenance.next_offset - 1
        cluster_id = world.controller.settings.cluster_id
        said = [b.next_event(cluster_id, metadata_offset) for b in world.brokers.values()]
        return [event for event in said if event is not None]

    def _housekeeping(self) -> list[Event]:
        """Return the events of the controller's timers that are due."""
        now_ms = self._world.clock.now_ms()
        if now_ms < self._next_housekeeping_ms:
            return []
        self._next_housekeeping_ms = now_ms + _HOUSEKEEPING_INTERVAL_MS
        return [_BALANCING, _REMOVING]

    def _ordinary_events(self) -> list[Event]:
        world = self._world
        count = world.rng.randrange(2) if world.is_unsettled() else world.rng.randrange(3, 9)
        drawn = [ordinary_event(world) for _ in range(count)]
        return [event for event in drawn if event is not None]

    async def _submit(self, events: Sequence[Event]) -> int:
        """Submit the events together, pass on responses; return how many events wrote records."""
        world = self._world
        futures = []
        for event in events:
            world.clock.advance(world.rng.randrange(_BETWEEN_EVENTS_MS))
            futures.append(event.submit(world.controller))
        left_records = 0
        for event, future in zip(events, futures, strict=True):
            try:
                answer = await future
            except RequestError as error:
                if error.code == "NOT_CONTROLLER":
                    raise
                continue  # operators accept a refusal
            if answer.end_offset > self._end_offset:
                self._end_offset = answer.end_offset
                self.changes[event.kind] += 1
                left_records += 1
            event.hear(answer.response)
        return left_records


def _schedule(wanted: int) -> Iterator[tuple[int, Callable[[World], Story]]]:
    """Yield each story with the change count at which it starts, in endless cycles."""
    cycle = min(wanted, _CYCLE_CHANGES)
    yield cycle // 50, FIRST_STORY
    for base in itertools.count(cycle // 8, cycle):
        for number, story in enumerate(STORIES):
            yield base + cycle * number // (len(STORIES) + 2), story
