"""`metalog upgrade-check` lists everything that prevents an upgrade, and nothing else."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from metadata_log.kraft_format.batch_codec import encode_batch
from records.base import Record, Uuid
from records.brokers import (
    BrokerFeature,
    ControllerFeature,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from records.configs import ConfigRecord, FeatureLevelRecord, ZkMigrationStateRecord
from records.control import KRaftVersionRecord, UnknownRecord
from records.registry import newest_version
from records.security import DelegationTokenRecord, UserScramCredentialRecord
from replay.image.configs import BROKER, TOPIC
from tests.api.advise.clusters import leader_change, topic, voters_record
from tests.api.conftest import Metalog
from tests.api.services import serving
from tests.metadata_log.kraft.logs import LogFiles, rows
from tests.real_logs import DataSet, each_data_set

METADATA_VERSION = "metadata.version"


def level(value: int, name: str = METADATA_VERSION) -> FeatureLevelRecord:
    return FeatureLevelRecord(name=name, feature_level=value)


def broker(
    number: int, highest: int, *, offset: int, fenced: bool = False, zk: bool = False
) -> RegisterBrokerRecord:
    feature = BrokerFeature(
        name=METADATA_VERSION, min_supported_version=1, max_supported_version=highest
    )
    return RegisterBrokerRecord(
        broker_id=number,
        is_migrating_zk_broker=zk,
        incarnation_id=Uuid(bytes([number]) * 16),
        broker_epoch=offset,
        end_points=(),
        features=(feature,),
        rack=None,
        fenced=fenced,
    )


def controller(number: int, highest: int) -> RegisterControllerRecord:
    feature = ControllerFeature(
        name=METADATA_VERSION, min_supported_version=1, max_supported_version=highest
    )
    return RegisterControllerRecord(
        controller_id=number,
        incarnation_id=Uuid(bytes([number]) * 16),
        zk_migration_ready=False,
        end_points=(),
        features=(feature,),
    )


def config(key: str, value: str, *, name: str = "a", kind: int = TOPIC) -> ConfigRecord:
    return ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)


def scram() -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        name="ann", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"k", iterations=4096
    )


def token() -> DelegationTokenRecord:
    return DelegationTokenRecord(
        owner="User:ann",
        requester="User:ann",
        renewers=(),
        issue_timestamp=0,
        max_timestamp=1,
        expiration_timestamp=1,
        token_id="t",
    )


def mirror(
    metalog: Metalog, tmp_path: Path, *records: Record, voters: Sequence[int] = (1,)
) -> Path:
    """Import a log of these records, the first of them at offset 1."""
    files = LogFiles(tmp_path / "node")
    batches = [encode_batch(rows(0, 1, leader_change(1, voters)))]
    for offset, record in enumerate(records, 1):
        (row,) = rows(offset, 1, record)
        version = 0 if isinstance(record, UnknownRecord) else newest_version(type(record))
        batches.append(encode_batch([msgspec.structs.replace(row, record_version=version)]))
    files.segment(0, *batches)
    assert metalog("import", "kraft", files.directory, tmp_path / "log").code == 0
    return tmp_path / "log"


CASES: dict[str, tuple[str, list[Record], list[tuple[int | None, str]]]] = {
    "a dead broker whose cluster serves": (
        "4.0",
        [level(19), broker(1, 19, offset=2), broker(2, 14, offset=3, fenced=True)],
        [(3, "broker:2")],
    ),
    "a broker that the rolling upgrade left behind": (
        "4.0",
        [level(19), broker(1, 25, offset=2), broker(2, 19, offset=3)],
        [(3, "broker:2")],
    ),
    "a controller that is no voter any more": (
        "3.9",
        [level(19), controller(1, 19), controller(5, 19)],
        [(3, "controller:5")],
    ),
    "a controller that was upgraded never, beside one that was": (
        "4.4",
        [level(25), controller(1, 33), controller(1, 33), controller(4, 25)],
        [(4, "controller:4")],
    ),
    "a level below the least of Kafka 4": ("4.0", [level(5)], [(1, "feature:metadata.version")]),
    "a topic's message format": (
        "4.0",
        [level(19), topic("a"), config("message.format.version", "2.8")],
        [(3, "config:topic/a#message.format.version")],
    ),
    "a topic's and all brokers' timestamp difference": (
        "4.1",
        [
            level(19),
            topic("a"),
            config("message.timestamp.difference.max.ms", "9"),
            config("log.message.timestamp.difference.max.ms", "9", name="", kind=BROKER),
        ],
        [
            (3, "config:topic/a#message.timestamp.difference.max.ms"),
            (4, "config:broker/#log.message.timestamp.difference.max.ms"),
        ],
    ),
    "segments below 1 MiB": (
        "4.0",
        [level(19), topic("a"), config("segment.bytes", "65536")],
        [(3, "config:topic/a#segment.bytes")],
    ),
    "a thread pool of -1": (
        "4.0",
        [
            level(19),
            config("remote.log.manager.copier.thread.pool.size", "-1", name="1", kind=BROKER),
        ],
        [(2, "config:broker/1#remote.log.manager.copier.thread.pool.size")],
    ),
    "an unfinished migration from ZooKeeper": (
        "4.0",
        [level(19), ZkMigrationStateRecord(zk_migration_state=1)],
        [(2, "cluster:zk_migration")],
    ),
    "a broker in ZooKeeper mode": (
        "4.0",
        [level(19), broker(1, 25, offset=2, zk=True)],
        [(2, "broker:1")],
    ),
    "a downgrade across a change of form, with records of the higher level": (
        "3.4",
        [level(14), topic("a"), scram(), token()],
        [
            (1, "feature:metadata.version"),
            (3, "UserScramCredentialRecord"),
            (4, "DelegationTokenRecord"),
        ],
    ),
    "a downgrade with replicas eligible for leadership": (
        "3.9",
        [level(21), level(1, "eligible.leader.replicas.version")],
        [(2, "feature:eligible.leader.replicas.version")],
    ),
    "a downgrade below the dynamic quorum": (
        "3.8",
        [level(20), KRaftVersionRecord(version=0, kraft_version=1), voters_record(1)],
        [(2, "cluster:kraft_version")],
    ),
    "nothing": ("4.0", [level(19), broker(1, 19, offset=2), controller(1, 19), topic("a")], []),
    "nothing: a level up, within what all support": (
        "4.0",
        [level(21), broker(1, 25, offset=2), broker(2, 25, offset=3, fenced=True)],
        [],
    ),
    "nothing: a level down that changed no form": ("3.7-IV2", [level(21), topic("a")], []),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_in_the_way_is_found_and_nothing_else(
    metalog: Metalog, tmp_path: Path, case: str
) -> None:
    to, records, expected = CASES[case]
    log = mirror(metalog, tmp_path, *records)
    answer = metalog("upgrade-check", log, "--to", to, "--json")
    findings: list[dict[str, Any]] = answer.json["findings"]
    assert [(each["offset"], each["object"]) for each in findings] == expected
    assert all(each["text"] and each["remedy"] for each in findings)
    assert answer.json["ready"] is (not expected)
    assert answer.code == (1 if expected else 0)
    # The state before the record does not have it.
    if len(expected) == 1 and expected[0][0] == len(records) > 1:
        before = metalog("upgrade-check", log, "--to", to, "--at", len(records) - 1, "--json")
        assert before.json["ready"]


def test_people_see_the_same(metalog: Metalog, tmp_path: Path) -> None:
    log = mirror(metalog, tmp_path, level(19), controller(1, 19), controller(5, 19))
    answer = metalog("upgrade-check", log, "--to", "4.4")
    assert "controller 5, which is no voter, supports metadata.version 1 to 19" in " ".join(
        answer.out.split()
    )
    assert all(len(line) <= 80 for line in answer.out.splitlines())
    assert "nothing" in metalog("upgrade-check", log, "--to", "3.7").out


@pytest.mark.parametrize("to", ["4.4", "3.7"])
def test_answer_says_what_was_checked_and_what_was_not(
    metalog: Metalog, tmp_path: Path, to: str
) -> None:
    log = mirror(metalog, tmp_path, level(19), controller(1, 19), controller(5, 19))
    text = " ".join(metalog("upgrade-check", log, "--to", to).out.split())
    told = metalog("upgrade-check", log, "--to", to, "--json").json
    assert f"checked: {told['checked']}; as of offset {told['as_of']}" in text
    assert f"not checked: {told['not_checked']}" in text
    assert "features" in told["checked"]
    assert "server.properties" in told["not_checked"]


def test_a_service_finds_the_same(metalog: Metalog, demo_log: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    shutil.copytree(demo_log, log)
    with serving(log) as service:
        asked = metalog("upgrade-check", "--server", service.kafka, "--to", "3.5", "--json")
        read = metalog("upgrade-check", log, "--to", "3.5", "--json")
    assert asked.json["findings"] == read.json["findings"] != []
    assert asked.code == read.code == 1


@pytest.mark.parametrize("version", ["", "5.0", "2.8", "4.0-IV9", "new", "33"])
def test_a_version_that_there_is_not_is_refused(
    metalog: Metalog, tmp_path: Path, version: str
) -> None:
    answer = metalog("upgrade-check", mirror(metalog, tmp_path, level(19)), "--to", version)
    assert answer.code == 3
    assert "not a version of Kafka" in answer.err


@each_data_set
def test_what_is_found_in_real_logs_is_there(
    metalog: Metalog, tmp_path: Path, data_set: DataSet
) -> None:
    source = data_set.materialise(tmp_path / "source")
    assert metalog("import", "kraft", source, tmp_path / "log").code == 0
    answer = metalog("upgrade-check", tmp_path / "log", "--to", "4.4", "--json")
    findings = answer.json["findings"]
    records = [row for segment in data_set.segments for row in segment.oracle()]
    if not any(row.get("type") == "FeatureLevelRecord" for row in records):
        # A log of Kafka 3.2 or older, which Kafka 4 refuses.
        assert [each["object"] for each in findings] == ["feature:metadata.version"]
        return
    assert {each["object"].rpartition("#")[2] for each in findings} <= {
        "message.timestamp.difference.max.ms"
    }, findings
    wanted = {each["offset"] for each in findings}
    set_there = {row["offset"]: row["data"]["name"] for row in records if row["offset"] in wanted}
    assert set_there == dict.fromkeys(wanted, "message.timestamp.difference.max.ms")


def test_the_version_must_be_named(metalog: Metalog, tmp_path: Path) -> None:
    answer = metalog("upgrade-check", tmp_path)
    assert answer.code == 2
    assert "Missing option '--to'" in answer.err
