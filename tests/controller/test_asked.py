"""The request that is stored beside the records of a decision, without secrets."""

from functools import partial
from random import Random
from typing import Any

import msgspec
import pytest

from api.requests.commands import COMMANDS
from api.requests.transactions import Step, Transact
from controller.asked.asked import ASKED_BYTES_MAX, BoundDecision, asked_settings
from controller.asked.observed import Draws
from controller.authorization.caller import CONTROLLER
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ResourceChange,
    ResourceResult,
)
from controller.decisions.configs.effective import BROKER
from controller.decisions.context.context import Context, PlannedConfigs, Settings
from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from controller.decisions.outcome import Refusal
from controller.decisions.topics.topics import CreateTopics, NewTopic
from controller.demo.events import COMMANDS as DEMO_COMMANDS
from controller.placement.classic import ClassicPlacer
from controller.results.result import ControllerResult
from controller.wire import from_log
from metadata_log.format.batch import NewBatch
from metadata_log.limits import BATCH_RECORDS_MAX
from records.configs import ConfigRecord
from records.control import NoteRecord
from records.envelope import Asked, Origin, SecretReference
from records.errors import RequestError
from records.topics import NamespaceRecord
from tests.controller.office import Office

_ALTER = COMMANDS["configs alter"]
_SECRET = "hunter2 of the key store"


def last(office: Office) -> NewBatch:
    return office.log.batches[-1]


def asked_last(office: Office) -> Asked:
    asked = last(office).asked
    assert asked is not None
    return asked


def configs(*changes: ConfigChange) -> AlterConfigs:
    resource = ResourceChange(resource_type=BROKER, resource_name="1", changes=changes)
    return AlterConfigs(resources=(resource,))


async def test_request_is_kept_in_its_typed_form_with_the_seed_it_drew(office: Office) -> None:
    request = CreateNamespace("org")
    await office.controller.submit(BoundDecision("namespaces create", create_namespace, request))
    asked = asked_last(office)
    assert (asked.command, asked.version, asked.response) == ("namespaces create", 1, None)
    assert from_log(asked.request or b"", CreateNamespace) == request
    (record,) = last(office).records
    assert isinstance(record, NamespaceRecord)
    assert asked.seed is not None
    again = bytearray(Random(asked.seed).randbytes(16))
    assert bytes(again[9:]) == record.namespace_id[9:]


async def test_response_is_kept_of_a_request_that_can_be_repeated(office: Office) -> None:
    bound = BoundDecision("namespaces create", create_namespace, CreateNamespace("org"))
    origin = Origin(request_id="r1", request_hash=b"h")
    answer = await office.controller.submit(bound, origin=origin)
    raw = asked_last(office).response
    assert raw is not None
    assert from_log(raw, bound.response_type) == answer.response


async def test_decision_without_a_request_of_its_own_keeps_nothing(office: Office) -> None:
    await office.controller.submit(partial(create_namespace, request=CreateNamespace("org")))
    assert last(office).asked is None


async def test_secret_is_a_reference_to_the_record_that_holds_it(office: Office) -> None:
    await office.register(1)
    request = configs(
        ConfigChange("num.io.threads", "8"), ConfigChange("ssl.keystore.password", _SECRET)
    )
    origin = Origin(request_id="r1", request_hash=b"h")
    await office.controller.submit(_ALTER.bound(request, CONTROLLER), origin=origin)
    asked = asked_last(office)
    assert _SECRET.encode() not in msgspec.msgpack.encode(asked)
    (reference,) = asked.secrets
    assert reference.path == "request/0/0/2/1/1"
    assert reference.record_index is not None
    held = last(office).records[reference.record_index]
    assert isinstance(held, ConfigRecord)
    assert getattr(held, reference.field or "") == _SECRET
    assert msgspec.msgpack.decode(asked.request or b"")[0][0][2] == [
        ["num.io.threads", "8"],
        ["ssl.keystore.password", None],
    ]


async def test_secret_that_no_record_holds_is_not_kept_at_all(office: Office) -> None:
    threads = ResourceChange(
        resource_type=BROKER, resource_name="", changes=(ConfigChange("num.io.threads", "8"),)
    )
    absent = configs(ConfigChange("ssl.keystore.password", _SECRET))
    request = AlterConfigs(resources=(*absent.resources, threads))
    await office.controller.submit(_ALTER.bound(request, CONTROLLER))
    assert len(last(office).records) == 1
    asked = asked_last(office)
    assert _SECRET.encode() not in msgspec.msgpack.encode(asked)
    (reference,) = asked.secrets
    assert reference.record_index is None


def _note(_: Context, request: AlterConfigs) -> ControllerResult[Refusal]:
    quoted = request.resources[0].changes[0].value
    refusal = Refusal("INVALID_CONFIG", f"{quoted!r} is no number")
    return ControllerResult(
        response=refusal, records=(NoteRecord(at_offset=0, author="a", text="b"),)
    )


async def test_refusal_that_quotes_a_secret_is_kept_without_it(office: Office) -> None:
    bound = BoundDecision("note", _note, configs(ConfigChange("my.password", _SECRET)))
    await office.controller.submit(bound, origin=Origin(request_id="r", request_hash=b"h"))
    asked = asked_last(office)
    assert _SECRET.encode() not in msgspec.msgpack.encode(asked)
    assert asked.secrets == (SecretReference(path="request/0/0/2/0/1"),)
    refusal = from_log(asked.response or b"", Refusal)
    assert refusal == Refusal("INVALID_CONFIG", "'(redacted)' is no number")


async def test_policy_that_quotes_a_secret_is_kept_without_it() -> None:
    def policy(planned: PlannedConfigs) -> None:
        if "ssl.keystore.password" in planned.configs:
            raise RequestError("POLICY_VIOLATION", f"not {dict(planned.configs)}")

    office = Office(settings=Settings(cluster_id="test", config_policy=policy))
    await office.controller.activate()
    await office.register(1)
    refused = configs(ConfigChange("ssl.keystore.password", _SECRET))
    threads = ResourceChange(
        resource_type=BROKER, resource_name="", changes=(ConfigChange("num.io.threads", "8"),)
    )
    request = AlterConfigs(resources=(*refused.resources, threads))
    await office.controller.submit(_ALTER.bound(request, CONTROLLER))
    asked = asked_last(office)
    assert _SECRET.encode() not in msgspec.msgpack.encode(asked)
    assert msgspec.msgpack.decode(asked.observed or b"") == {
        "policy on configs of 4/1": [
            "POLICY_VIOLATION",
            "not {'ssl.keystore.password': '(redacted)'}",
        ]
    }


def _named(_: Context, request: AlterConfigs) -> ControllerResult[ResourceResult]:
    return ControllerResult(
        response=ResourceResult(resource_type=4, resource_name="shop"),
        records=(NoteRecord(at_offset=0, author="a", text="b"),),
    )


async def test_names_in_an_answer_are_kept_also_when_a_secret_occurs_in_them(
    office: Office,
) -> None:
    bound = BoundDecision("name", _named, configs(ConfigChange("my.password", "o")))
    await office.controller.submit(bound, origin=Origin(request_id="r", request_hash=b"h"))
    kept = from_log(asked_last(office).response or b"", ResourceResult)
    assert kept.resource_name == "shop"


async def test_secrets_in_the_steps_of_a_transaction_are_references_too(office: Office) -> None:
    topic = NewTopic(name="t", configs=(("my.secret", _SECRET),))
    steps = (
        Step.of("configs alter", configs(ConfigChange("ssl.keystore.password", _SECRET))),
        Step.of("topics create", CreateTopics(topics=(topic,))),
    )

    def note(_: Context, request: Transact) -> ControllerResult[None]:
        return ControllerResult(
            response=None, records=(NoteRecord(at_offset=0, author="a", text="b"),)
        )

    await office.controller.submit(BoundDecision("transaction", note, Transact(steps=steps)))
    asked = asked_last(office)
    assert _SECRET.encode() not in msgspec.msgpack.encode(asked)
    assert [reference.path for reference in asked.secrets] == [
        "request/0/0/1/resources/0/changes/0/value",
        "request/0/1/1/topics/0/configs/0/1",
    ]


def _notes(_: Context, count: int) -> ControllerResult[None]:
    note = NoteRecord(at_offset=0, author="alice", text="here it began")
    return ControllerResult(response=None, records=(note,) * count, atomic=False)


async def test_inputs_of_a_decision_of_several_batches_stand_on_the_first_alone(
    office: Office,
) -> None:
    before = len(office.log.batches)
    decision = BoundDecision("notes", _notes, 2 * BATCH_RECORDS_MAX + 1)
    await office.controller.submit(decision)
    commands = [batch.asked and batch.asked.command for batch in office.log.batches[before:]]
    assert commands == ["notes", None, None]


async def test_request_above_the_limit_leaves_a_marker(office: Office) -> None:
    # The configs of a broker make its request large, its response stays small.
    await office.register(1)
    text = "x" * ASKED_BYTES_MAX
    request = configs(ConfigChange("listeners", text))
    await office.controller.submit(
        _ALTER.bound(request, CONTROLLER), origin=Origin(request_id="r1", request_hash=b"h")
    )
    asked = asked_last(office)
    assert asked.request is None
    assert asked.response is not None
    assert (asked.omitted_bytes or 0) > ASKED_BYTES_MAX


def test_settings_are_kept_without_secrets() -> None:
    settings = Settings(
        static_configs={"num.partitions": "3", "num.io.threads": "8", "ssl.key.password": _SECRET},
        placer=ClassicPlacer(rack_aware=False),
    )
    asked = asked_settings(settings)
    kept: dict[str, Any] = msgspec.msgpack.decode(asked.request or b"")
    assert asked.command == "activate"
    assert kept["static_configs"] == {
        "num.io.threads": "8",
        "num.partitions": "3",
        "ssl.key.password": None,
    }
    assert (kept["default_partitions"], kept["placer"]) == (3, "classic-rack-unaware")
    assert asked.secrets == (SecretReference(path="request/static_configs/ssl.key.password"),)


def test_demo_asks_by_the_names_that_clients_use() -> None:
    of_brokers = {"alter partition", "register", "report deletions"}
    for decide, name in DEMO_COMMANDS.items():
        assert name in of_brokers or COMMANDS[name].decide is decide


@pytest.mark.parametrize("seed", range(5))
def test_draws_come_from_one_seed_and_none_when_nothing_is_drawn(seed: int) -> None:
    draws = Draws(Random(seed))
    assert draws.seed is None
    drawn = (draws.randbytes(16), draws.randrange(1000))
    assert draws.seed is not None and 0 <= draws.seed < 1 << 63
    again = Random(draws.seed)
    assert drawn == (again.randbytes(16), again.randrange(1000))
