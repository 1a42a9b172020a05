"""Topics created and deleted in a range, compared with the images of real logs."""

from pathlib import Path

from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.configs import ConfigRecord, FeatureLevelRecord
from records.control import BeginTransactionRecord, EndTransactionRecord
from records.topics import RemoveTopicRecord
from replay.image.configs import BROKER, TOPIC
from replay.incidents.overview import Overview, OverviewReader
from replay.incidents.topic_changes import NAMED_MAX, TopicLife, joined_changes
from replay.loader import BatchSource, load_image
from tests.real_logs import DataSet, each_data_set
from tests.replay.builders import FakeLog, batches, broker, partition, topic, uid
from tests.replay.incidents.real import imported


def _overview(log: BatchSource, first: int = 0) -> Overview:
    reading = OverviewReader(log, log.end_offset, first)
    reading.read()
    return reading.overview()


def _log(*groups: tuple[Record, ...]) -> FakeLog:
    """Return a log of batches; each is a second later for each offset."""
    return FakeLog(batches(*groups))


def _config(name: str, resource: str = "", type_: int = BROKER) -> ConfigRecord:
    return ConfigRecord(resource_type=type_, resource_name=resource, name=name, value="1")


_BROKER = (broker(1, fenced=False),)
_GONE = (RemoveTopicRecord(topic_id=uid("a")),)


def test_topics_are_named_with_the_times_of_their_lives() -> None:
    log = _log(_BROKER, (topic("a"),), _GONE, (topic("a", topic_id="new a"), topic("b")))
    found = _overview(log).topics
    assert (found.created, found.deleted) == (3, 1)
    assert found.named == (
        TopicLife(name="a", created=(1_000, 3_000), deleted=(2_000,)),
        TopicLife(name="b", created=(3_000,), deleted=()),
    )
    # The name of a topic that was created before the range is known, too.
    later = _overview(log, 2).topics
    assert later.named[0] == TopicLife(name="a", created=(3_000,), deleted=(2_000,), existed=True)


def test_topics_recreated_in_one_batch_are_deleted_first() -> None:
    log = _log(_BROKER, (topic("a"),), (*_GONE, topic("a", topic_id="new a")))
    (later,) = _overview(log, 2).topics.named
    assert (later.created, later.deleted, later.existed) == ((2_000,), (2_000,), True)
    at_once = TopicLife(name="a", created=(7, 9), deleted=(7, 7), existed=True)
    assert at_once.in_order() == [(7, False), (7, True), (7, False), (9, True)]
    short_lived = TopicLife(name="a", created=(7, 7), deleted=(7,), existed=False)
    assert short_lived.in_order() == [(7, True), (7, False), (7, True)]


def test_the_first_topic_is_told_only_if_there_was_none_before() -> None:
    log = _log(_BROKER, (topic("a"), partition("a", 0)), (topic("b"), partition("b", 0)))
    assert (_overview(log).topics.from_offset, _overview(log).topics.from_time) == (1, 1_000)
    assert _overview(log, 1).topics.from_offset == 1
    # From the middle of the batch on: its first topic is before the range.
    assert _overview(log, 2).topics.from_offset is None
    assert _overview(log, 3).topics.from_offset is None


def test_configs_count_unless_the_format_or_the_creation_of_a_topic_set_them() -> None:
    version = FeatureLevelRecord(name="metadata.version", feature_level=20)
    formatted = (version, _config("min.insync.replicas"))
    created = (_config("cleanup.policy", "a", TOPIC), topic("a"))
    found = _overview(_log(formatted, _BROKER, created))
    assert (found.topics.configured, dict(found.changes)) == (0, {None: 1})
    upgraded = _overview(_log(formatted, _BROKER, created, formatted, (_config("x"), _config("y"))))
    assert (upgraded.topics.configured, dict(upgraded.changes)) == (2, {None: 3})
    assert _overview(_log((_config("x"),), _BROKER)).topics.configured == 1


def test_partitions_added_later_are_counted() -> None:
    log = _log(_BROKER, (topic("a"), partition("a", 0)), (partition("a", 1), partition("a", 2)))
    assert _overview(log).topics.resized == 1


def test_one_batch_that_adds_partitions_to_two_topics_changes_two_numbers() -> None:
    names = ("a", "b")
    created = tuple(each for name in names for each in (topic(name), partition(name, 0)))
    assert (
        _overview(
            _log(_BROKER, created, tuple(partition(name, 1) for name in names))
        ).topics.resized
        == 2
    )


def test_the_partitions_of_a_topic_that_is_created_in_several_batches_are_no_change() -> None:
    transaction = (
        (BeginTransactionRecord(name="t"),),
        (topic("a"), partition("a", 0)),
        (partition("a", 1),),
        (partition("a", 2),),
        (EndTransactionRecord(),),
    )
    assert _overview(_log(_BROKER, *transaction)).topics.resized == 0
    grown = (transaction[0], (partition("a", 3),), (partition("a", 4),), transaction[-1])
    assert _overview(_log(_BROKER, *transaction, *grown)).topics.resized == 1
    # From the middle of the batch on that created the topic.
    batch = (topic("a"), partition("a", 0), partition("a", 1))
    assert _overview(_log(_BROKER, batch), 3).topics.resized == 0
    # A batch for each record.
    assert _overview(_log(_BROKER, (topic("a"),), (partition("a", 0),))).topics.resized == 0


def test_few_topics_are_named_and_a_gap_joins_them() -> None:
    names = [*(f"_{number}" for number in range(NAMED_MAX)), "a", "z"]
    created = [(topic(name),) for name in names]
    before = _overview(_log(_BROKER, *created)).topics
    assert [each.name for each in before.named[:3]] == ["a", "z", "_0"]
    assert (len(before.named), before.created) == (NAMED_MAX, len(names))
    after = _overview(_log(_BROKER, (topic("a"),), _GONE)).topics
    both = joined_changes([before, after])
    assert (both.created, both.deleted) == (len(names) + 1, 1)
    life = before.named[0]
    assert both.named[0] == TopicLife(name="a", created=(*life.created, 1_000), deleted=(2_000,))
    assert both.from_offset == before.from_offset


@each_data_set
def test_topics_of_a_real_log_are_those_of_its_image(data_set: DataSet, tmp_path: Path) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        start, end = reader.history_start, reader.end_offset
        found = _overview(reader, start).topics
        before, after = load_image(reader, start - 1), load_image(reader, end - 1)
        assert before.topic_count + found.created - found.deleted == after.topic_count
        names = {after.full_name(each) for each in after.topics()}
        for life in found.named:
            was = before.topic_by_full_name(life.name) is not None
            assert was + len(life.created) - len(life.deleted) == (life.name in names)
