"""The controllers' addresses in a quorum's own log: of voters, and of registered controllers.

Before Kafka 3.9 a controller names the leader by its id alone.

Source: KIP-853 (VotersRecord), KIP-919 (RegisterControllerRecord).
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from api.quorum.leaders import Address
from metadata_log.format.needles import Needles
from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.brokers import RegisterControllerRecord
from records.control import VotersRecord


def logged_addresses(log: Path) -> dict[int, Address]:
    """Return each controller's latest address in a mirror's records, by node id.

    Raises:
        CorruptLogError: the mirror is damaged.
    """
    needles = Needles()
    needles.add_type(VotersRecord)
    needles.add_type(RegisterControllerRecord)
    with LogReader.open(log) as reader:
        base = () if reader.base is None else reader.base.rows()
        batches = chain(base, (batch.rows for batch in reader.skim(needles)))
        return dict(addresses_in(row.payload for rows in batches for row in rows))


def addresses_in(records: Iterable[Record]) -> Iterator[tuple[int, Address]]:
    """Yield node id and address of each controller in records: that of its first listener."""
    for record in records:
        if isinstance(record, VotersRecord):
            for voter in record.voters:
                for endpoint in voter.endpoints[:1]:
                    yield voter.voter_id, (endpoint.host, endpoint.port)
        elif isinstance(record, RegisterControllerRecord):
            for listener in record.end_points[:1]:
                yield record.controller_id, (listener.host, listener.port)
