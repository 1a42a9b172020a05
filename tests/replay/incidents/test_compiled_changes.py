"""Changes of partitions in C: the same outages and events as by the rules in Python alone.

The tests of outages, of timelines and of what is made from them run with both.
"""

import gc
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from metadata_log.reader.log_reader import LogReader
from records.avro import compiled
from records.base import Record
from records.envelope import Envelope, Extra, UnknownTag
from records.partitions import PartitionChangeRecord, PartitionRecord
from replay.image.partitions import NO_LEADER, Partition, changed, created
from replay.incidents import compiled_changes
from replay.incidents.causes import OWN
from replay.incidents.compiled_changes import plain_changes
from replay.incidents.event import GREW, PARTITIONS, SHRANK, TOPICS, Group
from replay.incidents.health import UNDER_REPLICATED
from replay.incidents.outage import Outage
from replay.loader import BatchSource
from replay.timeline import Timeline
from tests.histories import random_history
from tests.real_logs import DataSet, each_data_set
from tests.records.codecs import needs_compiled, using
from tests.records.test_choice_of_codec import run
from tests.replay.builders import FakeLog, batches, change, partition, topic, uid
from tests.replay.incidents.real import imported
from tests.samples import drawn

pytestmark = needs_compiled


def answers(source: BatchSource) -> tuple[Any, ...]:
    """Return all outages, in order, with their causes, and all events."""
    timeline, end = Timeline(source), source.end_offset
    found = timeline.outages(source.history_start, end, assumed_min_isr=1)
    outages = [
        (each, each.object, each.cause, each.brokers, each.leaders) for each in found.intervals
    ]
    return outages, found.known, found.unknown, timeline.events(source.history_start, end)


def with_either(source: BatchSource) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    with using("compiled"):
        assert compiled_changes.is_used()
        ours = answers(source)
    with using(compiled.PYTHON):
        return ours, answers(source)


@drawn(200, 40)
@given(st.integers(0, 2**32), st.integers(2, 80))
def test_random_histories_have_equal_outages_and_events(seed: int, count: int) -> None:
    found, expected = with_either(FakeLog(random_history(random.Random(seed), count)))
    assert found == expected


@each_data_set
def test_real_logs_have_equal_outages_and_events(data_set: DataSet, tmp_path: Path) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        found, expected = with_either(reader)
    assert found == expected


BEFORE = Partition(
    uid("orders"), 0, (1, 2, 3), (1, 2, 3), (), (), 1, 0, 5, 9, (uid("d"),) * 3, (), (4,), 0
)


class Kept:
    """The state that the compiled module changes, for outages or for events."""

    def __init__(self, kind: str, before: Any = BEFORE) -> None:
        self.live: Any = {uid("orders"): {0: before}}
        self.open: dict[Any, Any] = {}
        self.ended: list[Outage] = []
        self.names: Any = {uid("orders"): {0: "partition:orders/0"}}
        self.latest: dict[str, Any] = {}
        self.changed: dict[Any, None] = {}
        self.otherwise: list[Any] = []
        kept: dict[str, Any] = {
            "OutageChanges": {
                "open_": self.open,
                "min_isr": {uid("orders"): 1},
                "labels": {uid("orders"): "orders"},
                "ended": self.ended,
                "outage": Outage,
                "kind": UNDER_REPLICATED,
                "own": OWN,
            },
            "EventChanges": {
                "labels": {uid("orders"): "orders"},
                "names": self.names,
                "up": {},
                "caused": {},
                "latest": self.latest,
                "changed": self.changed,
                "group": Group,
                "kinds": (PARTITIONS, TOPICS),
                "effects": (GREW, SHRANK, "new partition%s"),
            },
        }
        made = plain_changes(
            kind, self.live, lambda *found: self.otherwise.append(found), **kept[kind]
        )
        assert made is not None
        self.changes = made

    def left(self, *rows: Any) -> list[Any]:
        return list(self.changes.replay(rows, True))

    @property
    def partition(self) -> Partition:
        found: Partition = self.live[uid("orders")][0]
        return found


def row_of(record: Record) -> Any:
    ((row,),) = [each.rows for each in batches((record,))]
    return row


SHRINKS = row_of(change("orders", 0, isr=(1, 2)))


def test_an_isr_that_shrinks_and_grows_is_an_outage_without_any_python() -> None:
    kept = Kept("OutageChanges")
    assert kept.left(SHRINKS) == kept.otherwise == []
    after = changed(BEFORE, SHRINKS.payload)
    began = Outage("orders", UNDER_REPLICATED, 0, SHRINKS.timestamp, OWN, BEFORE, after)
    assert kept.open == {(uid("orders"), 0): (began,)}
    grows = replace(SHRINKS, offset=7, timestamp=8, payload=change("orders", 0, isr=(1, 2, 3)))
    assert kept.left(grows) == kept.otherwise == []
    assert (kept.open, kept.ended) == ({}, [replace(began, to_offset=7, to_time=8)])


def test_an_isr_that_shrinks_is_counted_without_any_python() -> None:
    kept = Kept("EventChanges")
    group = kept.latest[PARTITIONS] = Group(0, PARTITIONS, SHRINKS)
    assert kept.left(SHRINKS) == kept.otherwise == []
    assert (group.names, group.counts) == ({"partition:orders/0": None}, {SHRANK: 1})
    assert kept.changed == {group: None}


@pytest.mark.parametrize("kind", ["OutageChanges", "EventChanges"])
@pytest.mark.parametrize(
    "record",
    [
        change("orders", 0, isr=(1,), leader=2),
        change("orders", 0, isr=(), leader=NO_LEADER),
        change("orders", 0, leader=2**40),
        change("orders", 0),
    ],
)
def test_a_change_has_the_effect_that_the_rule_in_python_gives_it(
    kind: str, record: PartitionChangeRecord
) -> None:
    kept = Kept(kind)
    assert kept.left(row_of(record)) == []
    assert kept.partition == changed(BEFORE, record)


_UNUSUAL: dict[str, Any] = {
    "replicas": (1, 2),
    "removing_replicas": (),
    "adding_replicas": (),
    "leader_recovery_state": 1,
    "directories": (),
    "eligible_leader_replicas": (),
    "last_known_elr": (),
    "mode": 0,
    "partition_id": 1,
    "topic_id": uid("unknown"),
    "isr": [1, 2],
}


@pytest.mark.parametrize("kind", ["OutageChanges", "EventChanges"])
@pytest.mark.parametrize("more", [{}, {"eligible_leader_replicas": (4,), "last_known_elr": (5,)}])
def test_a_new_partition_is_what_the_rule_in_python_makes_of_it(
    kind: str, more: dict[str, Any]
) -> None:
    kept = Kept(kind)
    row = row_of(replace(partition("orders", 7), mode=-1, **more))
    kept.latest[TOPICS] = Group(0, TOPICS, row)
    assert kept.left(row) == kept.otherwise == []
    made = kept.live[uid("orders")][7]
    assert made == created(row.payload, uid("orders"))
    assert made.topic_id is BEFORE.topic_id


def test_a_new_partition_is_named_and_counted_without_any_python() -> None:
    kept = Kept("EventChanges")
    row = row_of(partition("orders", 7))
    group = kept.latest[TOPICS] = Group(0, TOPICS, row)
    assert kept.left(row) == kept.otherwise == []
    assert (group.names, group.counts) == ({"partition:orders/7": None}, {"new partition%s": 1})
    assert kept.names[uid("orders")][7] == "partition:orders/7"


@pytest.mark.parametrize("kind", ["OutageChanges", "EventChanges"])
def test_other_new_partitions_are_left_to_the_caller(kind: str) -> None:
    first, again = row_of(partition("empty", 0)), row_of(partition("orders", 0))
    kept = Kept(kind)
    kept.live[uid("empty")] = {}
    assert kept.left(first, again) == [first, again]
    assert (kept.live[uid("empty")], kept.partition) == ({}, BEFORE)


@pytest.mark.parametrize("kind", ["OutageChanges", "EventChanges"])
@pytest.mark.parametrize("field", _UNUSUAL)
def test_any_other_change_is_left_to_the_caller(kind: str, field: str) -> None:
    kept = Kept(kind)
    row = replace(SHRINKS, payload=replace(SHRINKS.payload, **{field: _UNUSUAL[field]}))
    assert kept.left(row) == [row]
    assert kept.partition is BEFORE
    assert kept.otherwise == []


@pytest.mark.parametrize("kind", ["OutageChanges", "EventChanges"])
def test_whatever_else_is_given_is_left_alone(kind: str) -> None:
    extra = Extra(unknown_tags=(UnknownTag(path="", tag=7, value=b""),))
    others = [replace(SHRINKS, extra=extra), row_of(topic("a")), row_of(partition("a", 0))]
    nothing = [None, 7, "row", object(), Envelope, SHRINKS.payload, (SHRINKS,)]
    for given_ in (*others, *nothing):
        kept = Kept(kind)
        assert kept.left(given_) == [given_]
        assert kept.partition is BEFORE


@pytest.mark.parametrize("kind", ["OutageChanges", "EventChanges"])
@pytest.mark.parametrize("wrong", [None, 7, (), "partition", SHRINKS, Partition])
def test_what_is_no_partition_is_left_alone(kind: str, wrong: Any) -> None:
    kept = Kept(kind, before=wrong)
    assert kept.left(SHRINKS) == [SHRINKS]
    kept.live[uid("orders")] = wrong
    assert kept.left(SHRINKS) == [SHRINKS]


@pytest.mark.parametrize("kind", ["OutageChanges", "EventChanges"])
def test_an_error_of_a_rule_reaches_the_caller_and_rows_are_not_kept(kind: str) -> None:
    kept = Kept(kind)
    row = replace(SHRINKS, payload=change("orders", 0, isr=(), leader=NO_LEADER))
    kept.otherwise = None  # type: ignore[assignment]
    with pytest.raises(AttributeError):
        kept.left(row)
    kept.otherwise = []
    assert kept.left(SHRINKS) == []


def test_classes_that_keep_fields_otherwise_are_refused() -> None:
    import metalog_follower as module

    class Other:
        def __init__(self) -> None:
            self.isr = ()

    for cls, name in ((Other, "isr"), (Partition, "absent"), (int, "real"), (complex, "real")):
        with pytest.raises(TypeError, match=name):
            module.Layout(cls, (name,))
    with pytest.raises(TypeError, match="too many"):
        module.Layout(Partition, ("isr",) * 17)
    usual: list[Any] = [Envelope, PartitionChangeRecord, PartitionRecord, Partition]
    for index, cls in enumerate(usual):
        classes = usual.copy()
        classes[index] = Outage
        with pytest.raises(TypeError, match=f"other fields|{cls.__name__}|Outage"):
            module.Changes(*classes, (-2, -1), -1, {}, print)


def test_what_has_no_layouts_is_refused() -> None:
    import metalog_follower as module

    with pytest.raises(TypeError):
        module.Changes.__new__(module.Changes)
    with pytest.raises(TypeError):
        Kept("OutageChanges").changes.replay(None, True)  # type: ignore[arg-type]


def test_nothing_is_kept_alive() -> None:
    """Counts references of what is touched often."""
    watched = [SHRINKS, BEFORE, OWN, SHRINKS.payload, UNDER_REPLICATED, SHRANK]

    def work() -> None:
        for kind in ("OutageChanges", "EventChanges"):
            kept = Kept(kind)
            kept.latest[PARTITIONS] = Group(0, PARTITIONS, SHRINKS)
            kept.left(*[SHRINKS] * 50)
        gc.collect()

    work()
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(5):
        work()
    assert [sys.getrefcount(each) for each in watched] == before


_WORK = """
import sys
from replay.incidents import compiled_changes
is_used = compiled_changes.is_used()
print("compiled" if is_used else "python", "metalog_follower" in sys.modules)
"""
_OTHER_PLANS = "import metalog_follower; metalog_follower.PLANS += 1"
_EARLIER_WHEEL = "import sys; sys.modules['metalog_follower'] = None"
_OTHER_FIELDS = """
import msgspec
from replay.image import partitions
class Partition(partitions.Partition, frozen=True):
    more: int = 0
partitions.Partition = Partition
"""
_MISREAD_FIELDS = """
import metalog_follower
from msgspec.structs import replace
from replay.image import partitions
usual = partitions.changed
partitions.changed = lambda *given: replace(usual(*given), leader=77)
"""


def test_it_is_used_where_it_is_installed() -> None:
    assert run(_WORK) == ("compiled True\n", "")


def test_environment_may_ask_for_python(tmp_path: Path) -> None:
    (tmp_path / "metalog_follower.py").write_text("raise RuntimeError('broken')")
    assert run(_WORK, "python", tmp_path) == ("python False\n", "")


@pytest.mark.parametrize(
    ("change_", "reason"),
    [
        pytest.param(_OTHER_PLANS, "version 2, this release makes 1", id="other plans"),
        pytest.param(_EARLIER_WHEEL, "metalog_follower", id="without the module"),
        pytest.param(_OTHER_FIELDS, "other fields", id="other fields"),
        pytest.param(_MISREAD_FIELDS, "it leaves [] of", id="misread fields"),
    ],
)
def test_module_that_does_not_fit_is_left_unused_with_one_warning(
    change_: str, reason: str
) -> None:
    printed, warnings = run(change_ + "\n" + _WORK)
    assert printed.startswith("python")
    (warning,) = warnings.splitlines()
    assert warning.startswith("metalog-codec is not used") and reason in warning
