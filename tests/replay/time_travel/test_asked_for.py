"""Who asked for what a record of the controller or a broker did."""

from records.text import uuid_text
from records.topics import MoveTopicRecord
from replay.time_travel.asked_for import _WIDE, AskedFor
from replay.time_travel.history import blame, history
from replay.time_travel.objects import parse_object
from tests.replay.asked_log import asked_log, deletion, removal, shrink, who_asked
from tests.replay.builders import (
    Base,
    FakeLog,
    batches,
    change,
    image_after,
    namespace,
    partition,
    uid,
)
from tests.replay.builders import topic as topic_record

OBJECTS = (
    *(f"partition:orders/{number}" for number in range(3)),
    *(f"partition:sales/{number}" for number in range(2)),
    *(f"removal:{name}" for name in ("orders/1", "orders/2", "sales/1")),
    *(
        f"deletion:@{uuid_text(uid(n))}/{p}/1"
        for n, p in (("orders", 1), ("orders", 2), ("sales", 1))
    ),
)


def asked_of(log: FakeLog, name: str) -> dict[int, str]:
    """Return who asked for the records in an object's history, by their offsets."""
    found, asked_for = dict[int, str](), AskedFor(log)
    object_ = parse_object(name)
    for event in history(log, object_):
        asked = asked_for.of(event.row, object_.kind.name, object_.name)
        if asked is not None:
            assert asked.origin is not None and asked.origin.principal is not None
            found[event.row.offset] = asked.origin.principal.removeprefix("User:")
    return found


def test_an_effect_carries_the_request_that_caused_it() -> None:
    log = FakeLog(asked_log())
    found: dict[int, set[str]] = {}
    for name in OBJECTS:
        for offset, who in asked_of(log, name).items():
            found.setdefault(offset, set()).add(who)
    assert found == {offset: set(who.split()) for offset, who in who_asked().items()}


def test_a_partition_that_left_with_others_names_who_asked_for_it() -> None:
    log = FakeLog(asked_log())
    last = {number: asked_of(log, f"partition:orders/{number}") for number in (1, 2)}
    (offset,) = [offset for offset, who in who_asked().items() if who == "eve gus"]
    assert (last[1][offset], last[2][offset]) == ("gus", "eve")
    # The topic changed as much by both; the one who asked last is named.
    assert asked_of(log, "topic:orders")[offset] == "gus"


def test_blame_has_the_row_whose_request_is_looked_for() -> None:
    log = FakeLog(asked_log())
    (setter,) = blame(log, parse_object("partition:orders/0#replicas"), log.end_offset - 1).values()
    assert setter.row is not None and setter.origin is not None
    asked = AskedFor(log).of(setter.row, "partition", "orders/0")
    assert asked is not None and asked.origin is not None
    assert (setter.origin.principal, asked.origin.principal) == ("User:broker-2", "User:dan")


def test_what_was_asked_before_the_kept_history_is_not_known() -> None:
    whole = asked_log()
    complete = AskedFor(FakeLog(whole))
    unknown = 0
    for cut in range(1, len(whole)):
        base = Base.of(image_after(whole[:cut]))
        asked_for = AskedFor(FakeLog(whole[cut:], base=base))
        for row in (row for batch in whole[cut:] for row in batch.rows):
            for name in ("orders/0", "orders/1", "orders/2", "sales/1"):
                expected = complete.of(row, "partition", name)
                if expected is not None and expected.offset < base.end_offset:
                    expected, unknown = None, unknown + 1
                assert asked_for.of(row, "partition", name) == expected
    assert unknown > 20


def test_whose_past_begins_with_a_name_is_not_told_what_was_asked_before() -> None:
    move = MoveTopicRecord(topic_id=uid("orders"), namespace_id=uid("bravo"), name="orders")
    log = FakeLog(
        batches(
            (
                namespace("bravo"),
                topic_record("orders"),
                partition("orders", 0),
                partition("orders", 1),
            ),
            (change("orders", 0, adding_replicas=(4,), replicas=(1, 2, 3, 4)),),
            (shrink("orders", 1),),
            (move,),
            (change("orders", 0, adding_replicas=()),),
            (deletion("orders", 1, 4),),
            (deletion("orders", 1, 7), removal("orders", 1)),
        )
    )
    rows = [row for batch in log.batches(7, log.end_offset) for row in batch.rows]

    def offsets(*, by_name: bool) -> list[int | None]:
        asked_for = AskedFor(log, by_name=by_name)
        found = [asked_for.of(row, "topic", "bravo:orders") for row in rows]
        return [None if asked is None else asked.offset for asked in found]

    assert offsets(by_name=False) == [4, 5, 5, 5]
    assert offsets(by_name=True) == [None] * 4


def test_many_topics_are_found_in_one_pass() -> None:
    names = [f"t{number}" for number in range(_WIDE + 2)]
    log = FakeLog(
        batches(
            *((topic_record(name), partition(name, 0), partition(name, 1)) for name in names),
            *((shrink(name, 1),) for name in names),
            *((removal(name, 1),) for name in names),
        )
    )
    asked_for = AskedFor(log)
    removed = [row for batch in log.batches(4 * len(names), log.end_offset) for row in batch.rows]
    found = [
        asked_for.of(row, "partition", f"{name}/1")
        for row, name in zip(removed, names, strict=True)
    ]
    assert [each and each.offset for each in found] == [
        3 * len(names) + number for number in range(len(names))
    ]
