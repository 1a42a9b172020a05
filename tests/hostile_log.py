"""A log in which every text that Kafka does not restrict is hostile.

Records may be imported from anywhere and appended as they are, so names are hostile too where a
controller would refuse them.
"""

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec.structs import replace

from controller.decisions.features.levels_in_use import bootstrap_records
from controller.decisions.levels import NEW_CLUSTER_LEVELS
from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record
from records.brokers import BrokerEndpoint
from records.configs import ClientQuotaRecord, ConfigRecord, EntityData, FeatureLevelRecord
from records.control import NoteRecord
from records.envelope import Origin
from records.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)
from records.text import uuid_text
from records.topics import NamespaceRecord, TopicRecord
from replay.image.configs import BROKER, CLIENT_METRICS, GROUP, TOPIC
from tests.metadata_log.kraft.node import Node
from tests.replay.builders import broker, change, namespace, partition, topic, uid

HOSTILE = (
    "\"><img src=x onerror=window.hit=1><script>window.hit=1</script>' onmouseover=window.hit=1 "
    "javascript:window.hit=1\x1b]0;title\x07\x1b[201~\x1b[31m\x9b31m\x7f\u202egnp.exe\u2066\u200f"
    "\u2028\r\n\t&lt;script&gt;&amp; metalog $(touch hit) `touch hit`" + "\\"
)
"""Markup, attributes, a shell's words, and characters that a terminal obeys."""

OBEYED = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Controls but for tab and line feed, and bidirectional formatting."""

LAST_VALUE = "the last record"
"""A text that only the last record of a hostile node has."""

_ORIGIN = Origin(
    principal=f"User:{HOSTILE}",
    client=HOSTILE,
    command=HOSTILE,
    reason=HOSTILE,
    trace_parent=HOSTILE,
)


def _records() -> Iterator[Record]:
    endpoint = BrokerEndpoint(name=HOSTILE, host=HOSTILE, port=9092, security_protocol=0)
    yield broker(1, fenced=False, end_points=(endpoint,), rack=HOSTILE)
    yield broker(2, fenced=False)
    yield namespace("ns")
    yield topic("t", namespace="ns")
    yield partition("t", 0, replicas=(1, 2), isr=(1, 2), leader=1)
    yield topic(HOSTILE)
    yield partition(HOSTILE, 0, replicas=(1,), isr=(1,), leader=1)
    yield namespace(HOSTILE)
    yield topic("inner", namespace=HOSTILE)
    yield partition("inner", 0, replicas=(1,), isr=(1,), leader=1)
    yield topic("long" * 25_000)
    for code, name in (
        *((TOPIC, "ns:t"), (TOPIC, HOSTILE), (GROUP, HOSTILE)),
        *((BROKER, ""), (CLIENT_METRICS, HOSTILE)),
    ):
        yield ConfigRecord(
            resource_type=code, resource_name=name, name="retention.ms", value=HOSTILE
        )
        yield ConfigRecord(resource_type=code, resource_name=name, name=HOSTILE, value="1")
    yield ClientQuotaRecord(
        entity=(
            EntityData(entity_type="user", entity_name=HOSTILE),
            EntityData(entity_type="client-id", entity_name=HOSTILE),
        ),
        key="producer_byte_rate",
        value=1.0,
        remove=False,
    )
    yield UserScramCredentialRecord(
        name=HOSTILE,
        mechanism=1,
        salt=b"s" * 16,
        stored_key=b"k" * 32,
        server_key=b"v" * 32,
        iterations=4096,
    )
    yield AccessControlEntryRecord(
        id=uid("acl"),
        resource_type=2,
        resource_name=HOSTILE,
        pattern_type=3,
        principal=f"User:{HOSTILE}",
        host=HOSTILE,
        operation=3,
        permission_type=3,
    )
    yield NoteRecord(at_offset=3, author=HOSTILE, text=HOSTILE)
    yield FeatureLevelRecord(name=HOSTILE, feature_level=1)
    yield DelegationTokenRecord(
        owner=f"User:{HOSTILE}",
        requester=f"User:{HOSTILE}",
        renewers=(f"User:{HOSTILE}",),
        issue_timestamp=1,
        max_timestamp=9_999_999_999_999,
        expiration_timestamp=9_999_999_999_999,
        token_id=HOSTILE,
    )
    for name in ("t", HOSTILE, "inner"):
        yield change(name, 0, leader=-1, isr=(1,))


def write_hostile_log(directory: Path) -> None:
    """Make the log."""
    batches = [NewBatch(records=tuple(bootstrap_records(NEW_CLUSTER_LEVELS)))]
    for number, record in enumerate(_records()):
        origin = replace(_ORIGIN, request_id=f"{number} {HOSTILE}")
        batches.append(NewBatch(records=(record,), origin=origin))
    write_batches(directory, *batches)


def write_hostile_node(directory: Path) -> Node:
    """Make a directory of a Kafka node whose log has what Kafka has of these records."""
    node = Node(directory, HOSTILE.replace("\n", ""), voters=1)
    for record in (*bootstrap_records(NEW_CLUSTER_LEVELS), *_records()):
        if isinstance(record, TopicRecord):
            node.append(replace(record, namespace_id=None))
        elif not isinstance(record, NamespaceRecord | NoteRecord):
            node.append(record)
    node.append(topic(LAST_VALUE))
    return node


def write_batches(directory: Path, *batches: NewBatch) -> None:
    """Make a log of these batches."""

    async def write() -> None:
        create_log(directory, uuid_text(bytes(range(16))))
        log = await MetadataLog.open(directory)
        try:
            for batch in batches:
                await log.append(batch)
        finally:
            await log.close()

    # If a browser is open, its loop runs in this thread.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(write())).result()
