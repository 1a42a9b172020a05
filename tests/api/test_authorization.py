"""Every command, over every interface, refuses exactly the items for which the caller lacks rights.

The tables of requests are compared with those of the service, so each new command must be added
here.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.questions.table import STEPS
from api.requests.commands import BROKER_COMMANDS, COMMANDS
from api.requests.transactions import Step, Transact
from api.requests.wire_requests import CommandClient
from api.service.session import Session
from api.socket.appends import encode_rows
from controller.authorization.authorizer import (
    CLUSTER,
    Operation,
    group_resource,
    namespace_resource,
    topic_resource,
    user_resource,
)
from controller.authorization.caller import Caller
from controller.decisions.brokers.deletion_reports import ReportDeletions
from controller.decisions.brokers.directory_assignment import AssignReplicas
from controller.decisions.brokers.fencing import SetFencing
from controller.decisions.brokers.heartbeats import Heartbeat
from controller.decisions.brokers.isr_proposals import AlterPartition
from controller.decisions.brokers.producer_ids import AllocateProducerIds
from controller.decisions.brokers.registrations import RegisterBroker
from controller.decisions.brokers.voters import AnnounceVoter
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ReplaceConfigs,
    ResourceChange,
)
from controller.decisions.configs.effective import BROKER
from controller.decisions.features.levels_in_use import FeatureUpdate, UpdateFeatures
from controller.decisions.levels import MODE_FEATURE
from controller.decisions.namespaces.namespaces import CreateNamespace, DeleteNamespace, MoveTopics
from controller.decisions.notes import AddNote
from controller.decisions.partitions.elections import ElectLeaders
from controller.decisions.partitions.reassignments import AlterReassignments, PartitionTarget
from controller.decisions.quotas.client_quotas import AlterQuotas, EntityChange, QuotaChange
from controller.decisions.security.acls import AclBinding, AclFilter, CreateAcls, DeleteAcls
from controller.decisions.security.tokens import CreateToken, RenewToken
from controller.decisions.security.users import AlterUsers
from controller.decisions.topics.alterations import AlterTopics, TopicAlteration
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth
from controller.decisions.topics.partition_plan import PlanPartitions
from controller.decisions.topics.partition_removal import DeletePartitions, TopicShrink
from controller.decisions.topics.subscriptions import DeleteSubscription, RegisterSubscription
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from controller.descriptions.acls import ExplainAccess, ListAcls
from controller.descriptions.brokers import ListBrokers
from controller.descriptions.configs import DescribeConfigs, ExplainConfigs
from controller.descriptions.features import DescribeFeatures
from controller.descriptions.namespaces import ListNamespaces
from controller.descriptions.partitions import DescribePartitions
from controller.descriptions.progress import ListReassignments, ListRemovals
from controller.descriptions.quotas import DescribeQuotas, ExplainQuotas
from controller.descriptions.subscriptions import ListSubscriptions
from controller.descriptions.tokens import DescribeTokens
from controller.descriptions.topics import DescribeTopics, ListTopics, TopicsDescribed
from controller.descriptions.users import DescribeUsers
from controller.raw_appends.raw_append import AppendRows
from metadata_log.format.batch import NewBatch
from records.base import ZERO_UUID, Uuid
from records.control import NoteRecord
from records.errors import RequestError
from replay.image.configs import GROUP, TOPIC
from replay.image.metadata import MetadataImage
from tests.api.guarded import CLUSTER_REFUSED, REFUSED, TOPIC_REFUSED, guarded, nothing_written
from tests.api.http.client import HttpClient
from tests.api.kafka.servers import CLUSTER_ID, Server
from tests.controller.cluster import FEATURES, credential, directory

A, B = topic_resource("a"), topic_resource("b")
_RETENTION = (ConfigChange("retention.ms", "1000"),)
_NOTE = NewBatch(records=(NoteRecord(at_offset=0, author="ann", text="x"),))


def _config(resource_type: int, name: str, config: str) -> ResourceChange:
    change = ConfigChange(config, "1000")
    return ResourceChange(resource_type=resource_type, resource_name=name, changes=(change,))


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A request with two items, one of which is allowed by a right.

    Attributes:
        result: The results if the caller has only this right, as `results_of` returns them.
        other: If the request has one item only: the second request, which is refused.
        is_question: True if nothing is written.
    """

    request: Any
    right: tuple[Operation, Any]
    result: Any
    other: Any = None
    is_question: bool = False


def _shrinks(count: int) -> tuple[TopicShrink, ...]:
    return tuple([TopicShrink(topic=name, partitions=count) for name in "ab"])


def _of_cluster(request: Any, operation: Operation, *, is_question: bool = False) -> Case:
    """Return a request whose items all need a right on the cluster."""
    return Case(request=request, right=(operation, CLUSTER), result=None, is_question=is_question)


ONE = [None, TOPIC_REFUSED]

CASES = {
    "topics create": Case(
        request=CreateTopics(topics=(NewTopic(name="c"), NewTopic(name="d"))),
        right=(Operation.CREATE, topic_resource("c")),
        result=ONE,
    ),
    "topics alter": Case(
        request=AlterTopics(
            topics=tuple([TopicAlteration(topic=name, configs=_RETENTION) for name in "ab"])
        ),
        right=(Operation.ALTER_CONFIGS, A),
        result=ONE,
    ),
    "topics list": Case(
        request=ListTopics(), right=(Operation.DESCRIBE, A), result=["a"], is_question=True
    ),
    "notes add": Case(
        request=AddNote(at_offset=0, text="seen"), right=(Operation.ALTER, CLUSTER), result=None
    ),
    "subscriptions register": Case(
        request=RegisterSubscription(group="g", pattern="a.*"),
        right=(Operation.READ, group_resource("g")),
        result=None,
        other=RegisterSubscription(group="h", pattern="a.*"),
    ),
    "subscriptions delete": Case(
        request=DeleteSubscription(group="g"),
        right=(Operation.DELETE, group_resource("g")),
        result=None,
        other=DeleteSubscription(group="h"),
    ),
    "subscriptions list": Case(
        request=ListSubscriptions(),
        right=(Operation.DESCRIBE, group_resource("g")),
        result=["g"],
        is_question=True,
    ),
    "topics describe": Case(
        request=DescribeTopics(topics=("a", "b")),
        right=(Operation.DESCRIBE, A),
        result=ONE,
        is_question=True,
    ),
    "topics delete": Case(
        request=DeleteTopics(topics=("a", "b")), right=(Operation.DELETE, A), result=ONE
    ),
    "partitions describe": Case(
        request=DescribePartitions(),
        right=(Operation.DESCRIBE, A),
        result=["a", "a"],
        other=DescribePartitions(topic="b"),
        is_question=True,
    ),
    "partitions removals": Case(
        request=ListRemovals(),
        right=(Operation.DESCRIBE, topic_resource("shrinking")),
        result=["shrinking"],
        other=ListRemovals(topic="leaving"),
        is_question=True,
    ),
    "partitions create": Case(
        request=CreatePartitions(
            topics=tuple([TopicGrowth(topic=name, partitions=3) for name in "ab"])
        ),
        right=(Operation.ALTER, A),
        result=ONE,
    ),
    "partitions plan": Case(
        request=PlanPartitions(topics=("a", "b"), partitions=1),
        right=(Operation.ALTER, A),
        result=ONE,
        is_question=True,
    ),
    "partitions delete": Case(
        request=DeletePartitions(topics=_shrinks(1)), right=(Operation.ALTER, A), result=ONE
    ),
    "partitions cancel-delete": Case(
        request="shrinking",
        right=(Operation.ALTER, topic_resource("shrinking")),
        result=None,
        other="leaving",
    ),
    "leaders elect": _of_cluster(
        ElectLeaders(partitions=(("m", 0), ("m", 1))),
        Operation.ALTER,
        is_question=True,  # the preferred replicas lead already
    ),
    "reassignments alter": _of_cluster(
        AlterReassignments(
            partitions=tuple(
                [PartitionTarget(topic=name, partition_id=0, broker_ids=(2,)) for name in "ab"]
            )
        ),
        Operation.ALTER,
    ),
    "reassignments list": _of_cluster(ListReassignments(), Operation.DESCRIBE, is_question=True),
    "features describe": _of_cluster(DescribeFeatures(), Operation.DESCRIBE, is_question=True),
    "configs describe": Case(
        request=DescribeConfigs(resource_type=TOPIC, resource_name="a"),
        right=(Operation.DESCRIBE_CONFIGS, A),
        result=None,
        other=DescribeConfigs(resource_type=TOPIC, resource_name="b"),
        is_question=True,
    ),
    "configs explain": Case(
        request=ExplainConfigs(resource_type=TOPIC, resource_name="a", config="retention.ms"),
        right=(Operation.DESCRIBE_CONFIGS, A),
        result=None,
        other=ExplainConfigs(resource_type=TOPIC, resource_name="b", config="retention.ms"),
        is_question=True,
    ),
    "namespaces list": Case(
        request=ListNamespaces(),
        right=(Operation.DESCRIBE, namespace_resource("full")),
        result=["full"],
        is_question=True,
    ),
    "brokers list": _of_cluster(ListBrokers(), Operation.DESCRIBE, is_question=True),
    "brokers describe": _of_cluster(1, Operation.DESCRIBE, is_question=True),
    "brokers register": _of_cluster(
        RegisterBroker(
            broker_id=3,
            cluster_id=CLUSTER_ID,
            incarnation_id=Uuid(b"3" * 16),
            features=FEATURES,
            log_dirs=(directory(3),),
        ),
        Operation.CLUSTER_ACTION,
    ),
    "brokers fence": _of_cluster(SetFencing(broker_id=2, fenced=True), Operation.ALTER),
    "brokers unregister": _of_cluster(2, Operation.ALTER),
    "configs alter": Case(
        request=AlterConfigs(
            resources=(_config(TOPIC, "a", "retention.ms"), _config(BROKER, "", "log.retention.ms"))
        ),
        right=(Operation.ALTER_CONFIGS, A),
        result=[None, CLUSTER_REFUSED],
    ),
    "configs replace": Case(
        request=ReplaceConfigs(
            resources=(_config(TOPIC, "a", "retention.ms"), _config(GROUP, "a", "interval.ms"))
        ),
        right=(Operation.ALTER_CONFIGS, A),
        result=[None, "GROUP_AUTHORIZATION_FAILED"],
    ),
    "features update": _of_cluster(
        UpdateFeatures(updates=(FeatureUpdate(name=MODE_FEATURE, level=1),)),
        Operation.ALTER,
        is_question=True,  # the feature has this level already
    ),
    "users alter": _of_cluster(
        AlterUsers(upsertions=(credential("ann"), credential("bob"))), Operation.ALTER
    ),
    "users describe": _of_cluster(DescribeUsers(), Operation.DESCRIBE, is_question=True),
    "acls create": _of_cluster(
        CreateAcls(
            acls=(AclBinding(resource_type=2, resource_name="b", principal="User:x", operation=3),)
        ),
        Operation.ALTER,
    ),
    "acls delete": _of_cluster(
        DeleteAcls(filters=(AclFilter(resource_name="no such"),)),
        Operation.ALTER,
        is_question=True,  # there is none
    ),
    "acls list": _of_cluster(ListAcls(), Operation.DESCRIBE, is_question=True),
    "acls explain": _of_cluster(
        ExplainAccess(principal="User:x", operation=3, resource_type=2, resource_name="b"),
        Operation.DESCRIBE,
        is_question=True,
    ),
    "tokens create": Case(
        request=CreateToken(owner="User:ann"),
        right=(Operation.CREATE_TOKENS, user_resource("User:ann")),
        result=None,
    ),
    "tokens describe": Case(
        request=DescribeTokens(),
        right=(Operation.DESCRIBE_TOKENS, user_resource("User:ann")),
        result=None,
        is_question=True,
    ),
    "quotas alter": _of_cluster(
        AlterQuotas(
            entities=tuple(
                [
                    EntityChange(
                        entity=(("user", name),),
                        changes=(QuotaChange("producer_byte_rate", 1.0),),
                    )
                    for name in ("ann", "bob")
                ]
            )
        ),
        Operation.ALTER_CONFIGS,
    ),
    "quotas describe": _of_cluster(DescribeQuotas(), Operation.DESCRIBE_CONFIGS, is_question=True),
    "quotas explain": _of_cluster(
        ExplainQuotas(user="ann"), Operation.DESCRIBE_CONFIGS, is_question=True
    ),
    "namespaces create": Case(
        request=CreateNamespace("x"),
        right=(Operation.CREATE, namespace_resource("x")),
        result=None,
        other=CreateNamespace("y"),
    ),
    "namespaces delete": Case(
        request=DeleteNamespace(name="empty"),
        right=(Operation.DELETE, namespace_resource("empty")),
        result=None,
        other=DeleteNamespace(name="full"),
    ),
    "topics move": _of_cluster(
        MoveTopics(from_namespace="", to_namespace="full"), Operation.CREATE
    ),
    "transaction": Case(
        request=Transact(steps=(Step.of("topics delete", DeleteTopics(topics=("a",))),)),
        right=(Operation.DELETE, A),
        result=None,
        other=Transact(
            steps=tuple([Step.of("topics delete", DeleteTopics(topics=(name,))) for name in "ab"])
        ),
    ),
    "records append": _of_cluster(
        AppendRows(rows=encode_rows(_NOTE), count=1), Operation.CLUSTER_ACTION
    ),
}

OF_OWNERS = {"tokens renew", "tokens expire"}
"""Commands that need no right: the owner and the renewers of a token may run them."""


def test_every_command_is_tried() -> None:
    assert set(CASES) | OF_OWNERS == set(COMMANDS | STEPS)


def results_of(response: Any) -> list[Any] | None:
    """Return the error of each item, or the names in a list; None if the response has no items."""
    if isinstance(response, TopicsDescribed):
        response = response.topics
    if not isinstance(response, tuple) or not response:
        return [] if response == () else None
    if hasattr(response[0], "refusal"):
        return [item.refusal and item.refusal.code for item in response]
    names = ("topic", "name", "group")
    return [next(filter(None, (getattr(i, n, None) for n in names)), None) for i in response]


WAYS: dict[str, Callable[[Server], CommandClient | HttpClient]] = {
    "kafka": lambda at: at.client,
    "socket": lambda at: at.socket_client,
    "http": lambda at: HttpClient(at.http_url),
}
"""The ways in by which commands come across a connection."""

by_each_way = pytest.mark.parametrize("way", WAYS)


async def refusals(client: CommandClient | HttpClient, command: str, request: Any) -> list[Any]:
    """Return the errors in the answer to a request; for a list, the names in it."""
    try:
        answer = await client.run(command, request)
    except RequestError as error:
        return [error.code]
    results = results_of(answer.response)
    return [answer.response] if results is None else results


@by_each_way
async def test_a_token_is_its_owners_and_its_renewers(tmp_path: Path, way: str) -> None:
    async with guarded(tmp_path) as (at, rights):
        client = WAYS[way](at)
        request = CreateToken(owner="User:ann", renewers=("User:bob",))
        created = (await client.run("tokens create", request)).response
        renewal = RenewToken(hmac=created.hmac)
        assert await refusals(client, "tokens renew", renewal) == [
            "DELEGATION_TOKEN_OWNER_MISMATCH"
        ]
        for principal in ("User:ann", "User:bob"):
            told = await client.run("tokens renew", renewal, principal=principal)
            assert told.response.expiration_timestamp >= created.expiration_timestamp
        rights.only = set()
        # The caller has requested the token, so it may see it; its id it may not.
        (seen,) = (await client.run("tokens describe", DescribeTokens())).response
        assert (seen.owner, seen.token_id) == ("User:ann", "(redacted)")
        shown = DescribeTokens(show_secrets=True)
        assert await refusals(client, "tokens describe", shown) == [CLUSTER_REFUSED]
        session = Session(at.service, Caller(principal="User:eve"))
        assert (await session.run(DescribeTokens())).response == ()
        rights.only = {(Operation.DESCRIBE_TOKENS, user_resource("User:ann"))}
        assert len((await session.run(DescribeTokens())).response) == 1


@by_each_way
async def test_without_rights_every_command_is_refused_and_writes_nothing(
    tmp_path: Path, way: str
) -> None:
    async with guarded(tmp_path) as (at, rights):
        rights.only = set()
        with nothing_written(at):
            for command, case in CASES.items():
                for request in (case.request, case.other):
                    if request is not None:
                        found = set(await refusals(WAYS[way](at), command, request))
                        assert found <= REFUSED, f"{command}: {found}"


async def test_commands_of_brokers_need_the_right_of_a_broker(tmp_path: Path) -> None:
    requests = {
        "register": CASES["brokers register"].request,
        "heartbeat": Heartbeat(broker_id=1, broker_epoch=0, metadata_offset=0),
        "alter partition": AlterPartition(broker_id=1, broker_epoch=0, partitions=()),
        "assign directories": AssignReplicas(broker_id=1, broker_epoch=0, replicas=()),
        "producer ids allocate": AllocateProducerIds(broker_id=1, broker_epoch=0),
        "report deletions": ReportDeletions(broker_id=1, broker_epoch=0, replicas=()),
        "announce voter": AnnounceVoter(
            voter_id=1, directory_id=ZERO_UUID, listener="CONTROLLER", host="a", port=9093
        ),
    }
    assert set(requests) == set(BROKER_COMMANDS)
    async with guarded(tmp_path) as (at, rights):
        rights.but = {(Operation.CLUSTER_ACTION, CLUSTER)}
        with nothing_written(at):
            for command, request in requests.items():
                with pytest.raises(RequestError) as caught:
                    await at.service.run(command, request, caller=Caller())
                assert caught.value.code == CLUSTER_REFUSED


@by_each_way
@pytest.mark.parametrize("command", CASES)
async def test_with_one_right_only_its_item_is_done(tmp_path: Path, command: str, way: str) -> None:
    case = CASES[command]
    async with guarded(tmp_path) as (at, rights):
        rights.only = {case.right}
        if command == "topics move":  # every topic of the namespace leaves it
            rights.only |= {
                (Operation.DELETE, topic_resource(topic.name))
                for topic in at.service.image.topics()
            }
            rights.only.add((Operation.DESCRIBE, namespace_resource("full")))
        untouched = _state_of(at.service.image, "b")
        if case.other is not None:
            with nothing_written(at):
                (code,) = await refusals(WAYS[way](at), command, case.other)
                assert code in REFUSED
        end = at.service.image.provenance.next_offset
        answer = await WAYS[way](at).run(command, case.request)
        if case.result is not None:
            assert results_of(answer.response) == case.result
        else:
            assert not REFUSED & set(results_of(answer.response) or ())
        assert (answer.end_offset > end) != case.is_question
        if case.right[1] != CLUSTER:
            assert _state_of(at.service.image, "b") == untouched


@pytest.mark.parametrize("command", [c for c, case in CASES.items() if case.right[1] == CLUSTER])
async def test_without_its_one_right_a_request_about_the_cluster_is_refused(
    tmp_path: Path, command: str
) -> None:
    case = CASES[command]
    async with guarded(tmp_path) as (at, rights):
        rights.but = {case.right}
        if command == "topics move":  # or the right on the new name of each topic
            rights.but |= {(Operation.CREATE, topic_resource("full:b"))}
        with nothing_written(at):
            assert set(await refusals(at.client, command, case.request)) <= REFUSED


@by_each_way
async def test_configs_of_a_created_topic_need_the_right_to_describe_them(
    tmp_path: Path, way: str
) -> None:
    described = (Operation.DESCRIBE_CONFIGS, topic_resource("d"))
    async with guarded(tmp_path) as (at, rights):
        for name, more in (("c", ()), ("d", (described,))):
            rights.only = {(Operation.CREATE, topic_resource(name)), *more}
            request = CreateTopics(topics=(NewTopic(name=name),), with_configs=True)
            (result,) = (await WAYS[way](at).run("topics create", request)).response
            assert (result.configs is None) == (not more)


def _state_of(image: MetadataImage, name: str) -> object:
    topic = image.topic_by_full_name(name)
    assert topic is not None
    return topic, image.partitions(topic.topic_id), image.config(TOPIC, name)


@by_each_way
async def test_a_pattern_for_everything_shows_what_the_caller_may_see(
    tmp_path: Path, way: str
) -> None:
    async with guarded(tmp_path) as (at, rights):
        seen = {"b", "full:t"}
        rights.only = {(Operation.DESCRIBE, topic_resource(name)) for name in seen}
        answer = await WAYS[way](at).run("topics list", ListTopics(pattern=".*"))
        assert {topic.name for topic in answer.response} == seen
