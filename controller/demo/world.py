"""The simulated cluster and the people around it, as the parts of the demo share them."""

from random import Random

from controller.controller import Controller
from controller.demo.brokers import SimulatedBroker
from controller.demo.clock import SimulatedClock
from controller.demo.names import Names
from controller.demo.options import DemoOptions
from controller.demo.people import People
from replay.image.metadata import MetadataImage
from replay.image.topics import Topic

FIRST_BROKER_ID = 1
_INTERNAL_PREFIX = "__"


class World:
    """What the demo knows. Requests are made from the committed image, as clients make theirs."""

    def __init__(
        self, controller: Controller, clock: SimulatedClock, options: DemoOptions, rng: Random
    ) -> None:
        self.controller = controller
        self.clock = clock
        self.options = options
        self.rng = rng
        self.names = Names(rng)
        self.people = People(rng)
        self.brokers = {
            broker_id: SimulatedBroker(broker_id, rng)
            for broker_id in range(FIRST_BROKER_ID, FIRST_BROKER_ID + options.brokers)
        }
        self._topics: tuple[MetadataImage, list[Topic]] = (MetadataImage.EMPTY, [])

    @property
    def image(self) -> MetadataImage:
        """The committed image."""
        return self.controller.image

    def topics(self) -> list[Topic]:
        """Return the ordinary topics, ordered by full name; computed once for each image."""
        image = self.image
        if self._topics[0] is not image:
            ordinary = [t for t in image.topics() if not t.name.startswith(_INTERNAL_PREFIX)]
            self._topics = (image, sorted(ordinary, key=image.full_name))
        return self._topics[1]

    def some_topics(self, count: int) -> list[Topic]:
        """Return that many ordinary topics at most, in any order."""
        topics = self.topics()
        return topics if len(topics) <= count else self.rng.sample(topics, count)

    def topic(self) -> Topic | None:
        """Return some ordinary topic, None when there is none."""
        topics = self.topics()
        return self.rng.choice(topics) if topics else None

    def serving(self) -> list[SimulatedBroker]:
        """Return the brokers that serve and that the controller lets serve."""
        return [broker for broker in self.brokers.values() if self.serves(broker.broker_id)]

    def serves(self, broker_id: int) -> bool:
        """Return whether a broker serves and the controller lets it."""
        broker, known = self.brokers.get(broker_id), self.image.broker(broker_id)
        return (
            broker is not None
            and broker.is_serving
            and known is not None
            and not known.fenced
            and not known.in_controlled_shutdown
        )

    def is_fenced(self, broker_id: int) -> bool:
        """Return whether the controller keeps a broker from serving, or does not know it."""
        known = self.image.broker(broker_id)
        return known is None or known.fenced

    def is_unsettled(self) -> bool:
        """Return whether a broker is coming or going."""
        return any(
            not self.is_fenced(broker.broker_id)
            if not broker.is_running
            else not self.serves(broker.broker_id)
            for broker in self.brokers.values()
        )
