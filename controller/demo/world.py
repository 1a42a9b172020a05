"""State shared by the parts of the demo: the simulated brokers, names, people, and the image."""

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
    """The demo's state. Requests are based on the committed image, as a client's would be."""

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
        """Return the topics that are not internal, ordered by full name; cached per image."""
        image = self.image
        if self._topics[0] is not image:
            ordinary = [t for t in image.topics() if not t.name.startswith(_INTERNAL_PREFIX)]
            self._topics = (image, sorted(ordinary, key=image.full_name))
        return self._topics[1]

    def some_topics(self, count: int) -> list[Topic]:
        """Return up to `count` topics that are not internal, in random order."""
        topics = self.topics()
        return topics if len(topics) <= count else self.rng.sample(topics, count)

    def topic(self) -> Topic | None:
        """Return a random topic that is not internal, or None if there is none."""
        topics = self.topics()
        return self.rng.choice(topics) if topics else None

    def serving(self) -> list[SimulatedBroker]:
        """Return the brokers that are serving and not fenced."""
        return [broker for broker in self.brokers.values() if self.serves(broker.broker_id)]

    def serves(self, broker_id: int) -> bool:
        """True if a broker is serving and not fenced."""
        broker, known = self.brokers.get(broker_id), self.image.broker(broker_id)
        return (
            broker is not None
            and broker.is_serving
            and known is not None
            and not known.fenced
            and not known.in_controlled_shutdown
        )

    def is_fenced(self, broker_id: int) -> bool:
        """True if the broker is fenced or not registered."""
        known = self.image.broker(broker_id)
        return known is None or known.fenced

    def is_unsettled(self) -> bool:
        """True if a broker is starting or stopping."""
        return any(
            not self.is_fenced(broker.broker_id)
            if not broker.is_running
            else not self.serves(broker.broker_id)
            for broker in self.brokers.values()
        )
