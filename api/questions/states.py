"""State transitions of partitions and replicas over time."""

from collections.abc import Iterator

from api.questions.past import Past
from api.questions.question import Computed, Question
from controller.decisions.lookup import TopicRef, find_partition, find_topic
from controller.decisions.request import Request
from controller.descriptions.state_walk import Transition, walk_states


class WalkStates(Request[tuple[Transition, ...]], frozen=True, kw_only=True):
    """Asks for the transitions of all partitions, of one topic's partitions, or of one partition.

    `since` is the first point of the range, inclusive. `replicas`: also return the transitions of
    replicas.
    """

    since: str = "start"
    topic: TopicRef | None = None
    partition_id: int | None = None
    replicas: bool = False


def walked_states(past: Past, at: int, request: WalkStates) -> Computed:
    """Return the transitions up to an offset, in the order of the log.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID: the topic or partition never
            existed.
    """
    first = past.first_known_offset(request.since, at)
    return Computed(items=_transitions(past, first, at, request), about=lambda: past.about(at))


def _transitions(past: Past, first: int, at: int, request: WalkStates) -> Iterator[Transition]:
    is_known = request.topic is None
    start = past.timeline.image(first - 1)
    if first <= at:
        steps = past.timeline.images(first, at + 1, start=start)
        for transition in walk_states(steps, start):
            if _is_asked_for(transition, request):
                is_known = True
                if transition.broker_id is None or request.replicas:
                    yield transition
    if not is_known and request.topic is not None:
        # It may have been there all the time, without a transition.
        image = past.image(at)
        topic = find_topic(image, request.topic)
        if request.partition_id is not None:
            find_partition(image, topic, request.partition_id)


def _is_asked_for(transition: Transition, request: WalkStates) -> bool:
    if request.topic not in (None, transition.topic, transition.topic_id):
        return False
    return request.partition_id in (None, transition.partition_id)


STATES = Question(name="partitions states", request=WalkStates, item=Transition, tell=walked_states)
