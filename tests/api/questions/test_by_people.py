"""Changes that people asked for: by the command in the log, or in Kafka's logs by the record."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from api.requests.commands import BROKER_COMMANDS
from controller.asked.asked import ACTIVATE
from controller.timers import TIMERS
from records.base import Record
from records.command_names import UNASKED
from records.configs import ConfigRecord, ProducerIdsRecord
from records.control import NoteRecord
from records.envelope import Origin
from replay.incidents.by_people import is_by_people
from tests.api.conftest import Metalog
from tests.replay.builders import batch, broker, change, partition, topic


def test_brokers_and_the_controller_give_the_commands_that_nobody_asked_for() -> None:
    assert {*BROKER_COMMANDS, *(timer.name for timer in TIMERS), ACTIVATE} == UNASKED


def test_the_people_of_a_demo_asked_for_what_has_their_names(
    metalog: Metalog, demo_log: Path
) -> None:
    found = metalog("timeline", demo_log, "--by-people", "--json").json["events"]
    events = metalog("timeline", demo_log, "--json").json["events"]
    own = ("User:broker-", "User:controller")
    asked = [
        event
        for event in events
        if event["kind"] != "notes"
        and event["principal"] is not None
        and not event["principal"].startswith(own)
    ]
    assert found == asked
    assert {event["kind"] for event in found} >= {"topics", "partitions", "others"}
    assert len(found) < len(events)


_CONFIG = ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1")


@pytest.mark.parametrize(
    ("record", "is_asked"),
    [
        (topic("orders"), True),
        (partition("orders", 0), True),
        (_CONFIG, True),
        (change("orders", 0, adding_replicas=(4,)), True),
        (change("orders", 0, removing_replicas=(1,)), True),
        (change("orders", 0, isr=(1, 2)), False),
        # The last step of a reassignment.
        (change("orders", 0, replicas=(2, 3), adding_replicas=(), removing_replicas=()), False),
        (broker(1), False),
        (ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=1000), False),
        (NoteRecord(at_offset=0, text="seen", author="User:ann"), False),
    ],
)
def test_without_a_command_the_record_decides(record: Record, is_asked: bool) -> None:
    (row,) = batch(0, record).rows
    assert is_by_people(row) is is_asked
    # With a command that decides, but not on a note, which changes nothing.
    is_note = isinstance(record, NoteRecord)
    asked = replace(row, origin=Origin(principal="ann", command="topics alter"))
    assert is_by_people(asked) is not is_note
    assert not is_by_people(replace(row, origin=Origin(command="alter partition")))
