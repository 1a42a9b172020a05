"""Objects that were created and removed between two states, compared with a step-by-step replay."""

import random

from msgspec.structs import replace

from records.configs import ConfigRecord
from records.control import NoOpRecord
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.image.configs import TOPIC
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.loader import load_image
from replay.time_travel.kinds import KINDS, Key
from replay.time_travel.labels import escaped
from replay.time_travel.short_lived import Passed, PassedObjects
from replay.transactions import effective_rows
from tests.histories import random_history
from tests.replay.builders import FakeLog, batches, partition, topic, uid
from tests.samples import cases, sampled

FOLLOWED = (
    *("topic", "partition", "namespace", "broker", "controller"),
    *("config", "acl", "quota", "scram", "token"),
)


def passed_objects(log: FakeLog, old: MetadataImage, new: MetadataImage) -> list[Passed]:
    """Return the short-lived objects that a replay from one image to the other finds."""
    end = new.provenance.next_offset
    found = PassedObjects(old, end)
    load_image(log, end - 1, start=old, on_batch=found.follow)
    return found.passed(new)


RETENTION = ConfigRecord(resource_type=TOPIC, resource_name="t", name="retention.ms", value="1")


def keys_in(image: MetadataImage) -> dict[tuple[str, Key], str]:
    """Return the names of the objects in an image that are tracked, by kind and key."""
    return {
        (kind, key): f"{kind}:{KINDS[kind].label(image, key)}"
        for kind in FOLLOWED
        for key, _ in KINDS[kind].objects(image)
    }


def naively_passed(
    log: FakeLog, old: MetadataImage, new: MetadataImage
) -> tuple[set[Passed], set[str]]:
    """Check the whole image after each record; also return the configs of moved topics."""
    moved: set[str] = set()
    first, end = old.provenance.next_offset, new.provenance.next_offset
    at_ends = keys_in(old) | keys_in(new)
    image, present = old, keys_in(old)
    names_of = dict(present)
    begun: dict[tuple[str, Key], int] = {}
    found: dict[tuple[str, Key], Passed] = {}
    for row in effective_rows(log.batches(first, end), first, end):
        delta = MetadataDelta(image)
        delta.replay(row)
        earlier, image = image, delta.apply(Provenance())
        if isinstance(row.payload, MoveTopicRecord):
            for state in (earlier, image):
                found_topic = state.topic(row.payload.topic_id)
                assert found_topic is not None
                moved.add(f"config:topic/{escaped(state.full_name(found_topic))}")
        now = keys_in(image)
        for name in now.keys() - present.keys():
            begun.setdefault(name, row.offset)
        for name in present.keys() - now.keys():
            if name not in at_ends:
                found[name] = Passed(present[name], begun[name], row.offset)
        present, names_of = now, names_of | now
    for (kind, key), each in found.items():
        if kind == "partition" and isinstance(key, tuple):
            # A topic that was moved later is known by its last name.
            label = names_of["topic", key[0]].removeprefix("topic:")
            found[kind, key] = replace(each, object=f"partition:{label}/{key[1]}")
    topics = {key for kind, key in found if kind == "topic"}
    names = {found["topic", key].object.removeprefix("topic:") for key in topics}
    passed = {
        each
        for (kind, key), each in found.items()
        if not (kind == "partition" and isinstance(key, tuple) and key[0] in topics)
        and not (
            kind == "config" and isinstance(key, tuple) and key[0] == TOPIC and key[1] in names
        )
    }
    return passed, moved


@sampled
def test_what_passed_is_what_a_look_after_each_record_finds() -> None:
    kinds: set[str] = set()
    for seed in range(cases(60, 12)):
        chosen = random.Random(seed)
        log = FakeLog(random_history(chosen, 120))
        for _ in range(3):
            before, after = sorted(chosen.sample(range(-1, log.end_offset), 2))
            old, new = load_image(log, before), load_image(log, after)
            passed, (naive, moved) = passed_objects(log, old, new), naively_passed(log, old, new)
            told, expected = ({p for p in of if p.object not in moved} for of in (passed, naive))
            assert told == expected, (seed, before, after)
            assert len(set(passed)) == len(passed)
            kinds |= {each.object.partition(":")[0] for each in passed}
    assert {"topic", "partition", "config", "acl"} <= kinds


def test_a_topic_stands_for_its_partitions_and_configs() -> None:
    made = [topic("t"), partition("t", 0), RETENTION]
    log = FakeLog(batches([NoOpRecord()], made, [RemoveTopicRecord(topic_id=uid("t"))]))
    old, new = load_image(log, 0), load_image(log, 4)
    assert passed_objects(log, old, new) == [Passed("topic:t", 1, 4)]
    assert passed_objects(log, new, new) == []


def test_a_config_that_moved_with_its_topic_came_and_went_under_its_last_name() -> None:
    moved = MoveTopicRecord(topic_id=uid("t"), namespace_id=None, name="u")
    gone = replace(RETENTION, resource_name="u", value=None)
    log = FakeLog(batches([topic("t")], [RETENTION], [moved], [gone]))
    old, new = load_image(log, 0), load_image(log, 3)
    assert passed_objects(log, old, new) == [Passed("config:topic/u", 1, 3)]
    assert passed_objects(log, load_image(log, 1), new) == []
    assert passed_objects(log, old, load_image(log, 2)) == []
