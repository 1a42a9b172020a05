"""Logs of scenario files and fault schedules, written to disk by the real controller."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from api.requests.commands import BROKER_COMMANDS, COMMANDS
from controller.asked.asked import BoundDecision, asked_settings
from controller.authorization.caller import CONTROLLER
from controller.controller import Controller
from controller.decider import Decision
from controller.decisions.brokers.heartbeats import Heartbeat, HeartbeatReply
from controller.decisions.context.context import Context, Settings
from controller.decisions.levels import NEW_CLUSTER_LEVELS
from controller.results.answer import Answer
from controller.results.result import ControllerResult
from controller.timers import TIMERS
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record
from records.envelope import Origin
from replay.image.metadata import MetadataImage
from tests.controller.cluster import START_MS, Cluster
from tests.controller.schedules import Schedule
from tests.scenarios.commands import run
from tests.scenarios.test_scenarios import blocks

T = TypeVar("T")

SCENARIOS = Path(__file__).parent.parent / "scenarios"

_COMMANDS = {c.decide: c for c in (*COMMANDS.values(), *BROKER_COMMANDS.values())}
_TIMERS: Mapping[Any, str] = {timer.decide: timer.name for timer in TIMERS}


class LoggedCluster(Cluster):
    """A cluster whose decisions are made by a controller, which writes them to a log."""

    def __init__(self, directory: Path) -> None:
        """Create the log, and become the active controller."""
        self.settings = Settings(cluster_id="test")
        self.now_ms = START_MS
        self.asker: Origin | None = None
        self.records = ()
        self.steps = []
        self.problems = []
        # Ids of processes and directories; the controller has a source of its own.
        self.rng = Random("cluster")  # type: ignore[assignment]
        self._directory = directory
        self._runner = asyncio.Runner()
        create_log(directory, self.settings.cluster_id)
        self._runner.run(self._take_office(MetadataImage.EMPTY))

    @property
    def image(self) -> MetadataImage:
        return self._controller.image

    @property
    def next_offset(self) -> int:
        return self._log.end_offset

    def context(self) -> Context:
        """Return the context of the controller's next decision."""
        return self._submit(lambda context: ControllerResult(response=context, records=()))

    def write(self, records: Sequence[Record]) -> None:
        """Append records without a request, like records of an older release."""
        result = ControllerResult(response=None, records=tuple(records))
        self._submit(lambda _: result)

    def decide(self, decision: Decision[T], *, steps_max: int | None = None) -> T:
        """Make a decision of a timer, with all its steps."""
        return self._submit(BoundDecision(_TIMERS[decision], decision))

    def do(self, decision: Callable[..., Any], request: object) -> Any:
        command = _COMMANDS.get(decision)
        if command is None:  # nobody can ask for it
            return self._submit(partial(_decided, decision, request))
        return self._submit(command.bound(request, CONTROLLER))

    def heartbeat(
        self, broker_id: int, *, steps_max: int | None = None, **fields: Any
    ) -> HeartbeatReply:
        fields.setdefault("metadata_offset", self.next_offset - 1)
        fields.setdefault("broker_epoch", self.broker(broker_id).broker_epoch)
        request = Heartbeat(broker_id=broker_id, **fields)

        async def beat() -> Answer[HeartbeatReply]:
            return await self._controller.heartbeat(request)

        return self._runner.run(beat()).response

    def fail_over(self) -> None:
        image = self.image
        self._runner.run(self._log.close())
        self._runner.run(self._take_office(image))

    def close(self) -> None:
        """Close the log."""
        self._runner.run(self._log.close())
        self._runner.close()

    async def _take_office(self, image: MetadataImage) -> None:
        self._log = await MetadataLog.open(
            self._directory,
            clock=_Clock(self),
            sync_mark_in_time=False,
            asked=asked_settings(self.settings),
        )
        self._controller = Controller(
            self._log,
            image,
            clock=self._log.clock,
            rng=Random(self._log.leader_epoch),
            settings=self.settings,
            on_commit=lambda decided: self.steps.append((decided.as_read, self.image)),
        )
        await self._controller.activate(NEW_CLUSTER_LEVELS)

    def _submit(self, decision: Decision[T]) -> T:
        async def submit() -> Answer[T]:
            return await self._controller.submit(decision, origin=self.asker)

        return self._runner.run(submit()).response


class _Clock:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def now_ms(self) -> int:
        return self._cluster.now_ms


def _decided(
    decision: Callable[..., ControllerResult[T]], request: object, context: Context
) -> ControllerResult[T]:
    return decision(context, request)


def write_scenario(path: Path, directory: Path) -> None:
    """Run a scenario file; its expectations are not checked, as they hold for other random
    numbers.
    """
    with closing(LoggedCluster(directory)) as cluster:
        for commands, _ in blocks(path.read_text("utf-8")):
            for command in commands:
                run(cluster, command)


def write_schedule(seed: int, operations: int, directory: Path) -> None:
    """Run a random fault schedule."""
    with closing(LoggedCluster(directory)) as cluster:
        problems = Schedule(seed, cluster).run(range(operations))
    assert not problems, problems
