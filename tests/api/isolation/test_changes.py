"""The commands and questions that a tenant may use, with successful answers.

All other entries of the tables need rights on the cluster and are refused: a new command or
question must be added here, or be refused.
"""

import random
import re
from pathlib import Path

import pytest

from api.questions.blame import ShowBlame
from api.questions.differences import ShowDiff
from api.questions.history import ShowHistory
from api.questions.objects import ShowImage
from api.questions.rows import ShowRows
from api.questions.states import WalkStates
from api.questions.table import QUESTIONS, find_question
from api.requests.commands import COMMANDS, find_command
from api.requests.transactions import Step, Transact
from api.requests.wire_requests import WireRequest
from api.socket.appends import encode_rows
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ReplaceConfigs,
    ResourceChange,
)
from controller.decisions.namespaces.namespaces import CreateNamespace, DeleteNamespace, MoveTopics
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.security.tokens import CreateToken, ExpireToken, RenewToken
from controller.decisions.topics.alterations import AlterTopics, TopicAlteration
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth
from controller.decisions.topics.partition_plan import PlanPartitions
from controller.decisions.topics.partition_removal import (
    CancelDeletePartitions,
    DeletePartitions,
    TopicShrink,
)
from controller.decisions.topics.subscriptions import DeleteSubscription, RegisterSubscription
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from controller.descriptions.configs import DescribeConfigs, ExplainConfigs
from controller.descriptions.namespaces import ListNamespaces
from controller.descriptions.partitions import DescribePartitions
from controller.descriptions.progress import ListRemovals
from controller.descriptions.subscriptions import ListSubscriptions
from controller.descriptions.tokens import DescribeTokens
from controller.descriptions.topics import DescribeTopics, ListTopics
from controller.raw_appends.raw_append import AppendRows
from controller.wire import to_wire
from metadata_log.format.batch import NewBatch
from records.command_names import LOGGED_NAMES
from records.control import NoteRecord
from replay.image.configs import GROUP, NAMESPACE, TOPIC
from tests.api.isolation.pair import Pair, pair
from tests.api.isolation.requests import Asker
from tests.api.isolation.worlds import ALPHA, BRAVO, Tenant

COMMANDS_OF_TENANTS = {
    "configs alter",
    "configs replace",
    "namespaces create",
    "namespaces delete",
    "partitions cancel-delete",
    "partitions create",
    "partitions delete",
    "partitions plan",
    "subscriptions delete",
    "subscriptions register",
    "tokens create",
    "tokens expire",
    "tokens renew",
    "topics alter",
    "topics create",
    "topics delete",
    "topics move",
    "transaction",
}
QUESTIONS_OF_TENANTS = {
    "blame",
    "configs describe",
    "configs explain",
    "diff",
    "dump",
    "history",
    "image",
    "namespaces list",
    "partitions describe",
    "partitions removals",
    "partitions states",
    "subscriptions list",
    "tokens describe",
    "topics describe",
    "topics list",
}

BOTH_WAYS = pytest.mark.parametrize(("asking", "other"), [(ALPHA, BRAVO), (BRAVO, ALPHA)])


@BOTH_WAYS
async def test_changes_that_succeed_tell_nothing_of_another_tenant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asking: Tenant, other: Tenant
) -> None:
    async with pair(tmp_path, monkeypatch, asking, other) as both:
        await _change_topics(both)
        await _change_configs(both)
        await _change_groups_and_tokens(both)
        await _change_namespaces(both)
    assert both.commands == COMMANDS_OF_TENANTS


async def _change_topics(both: Pair) -> None:
    name = both.asking.name
    made = f"{name}:made"
    new = NewTopic(
        name="made",
        namespace=name,
        assignments=(Assignment(0, (1,)),),
        configs=(("retention.ms", "1"),),
    )
    await both.run(CreateTopics(topics=(new,), with_configs=True))
    await both.run(CreatePartitions(topics=(TopicGrowth(topic=made, partitions=3),)))
    await both.run(AlterTopics(topics=(TopicAlteration(topic=made, partitions=4),)))
    await both.run(PlanPartitions(topics=(made,), partitions=1))
    shrink = (TopicShrink(topic=made, partitions=1),)
    await both.run(DeletePartitions(topics=shrink, delay_ms=3_600_000))
    await both.run(CancelDeletePartitions(made))
    await both.run(DeletePartitions(topics=shrink, delay_ms=0, validate_only=True))
    new_t = NewTopic(name="t", namespace=name)
    await both.run(
        Transact(
            steps=(
                Step.of("topics create", CreateTopics(topics=(new_t,))),
                Step.of("topics list", ListTopics()),
                Step.of("topics delete", DeleteTopics(topics=(f"{name}:t",))),
            )
        )
    )
    await both.run(DeleteTopics(topics=(f"{name}:inner:plans",)))


async def _change_configs(both: Pair) -> None:
    name = both.asking.name
    for type_, resource, config, value in (
        (TOPIC, f"{name}:orders", "retention.ms", "9"),
        (NAMESPACE, name, "retention.ms", "10"),
        (NAMESPACE, name, "namespace.max.topics", "1000"),
        (GROUP, f"{name}-group", "consumer.session.timeout.ms", "50000"),
    ):
        change = ResourceChange(
            resource_type=type_, resource_name=resource, changes=(ConfigChange(config, value),)
        )
        await both.run(AlterConfigs(resources=(change,)))
        await both.run(ReplaceConfigs(resources=(change,)))


async def _change_groups_and_tokens(both: Pair) -> None:
    group = f"{both.asking.name}-group"
    await both.run(RegisterSubscription(group=group, pattern=".*orders"))
    await both.run(DeleteSubscription(group=group))
    await both.run(RegisterSubscription(group=group, pattern=".*"))
    token = await both.run(CreateToken())
    await both.run(RenewToken(hmac=token.hmac))
    await both.run(CreateToken())
    await both.run(ExpireToken(hmac=token.hmac))


async def _change_namespaces(both: Pair) -> None:
    name = both.asking.name
    await both.run(CreateNamespace(f"{name}:new"))
    await both.run(MoveTopics(from_namespace=name, to_namespace=f"{name}:new", topic="made"))
    await both.run(MoveTopics(from_namespace=f"{name}:new", to_namespace=f"{name}:inner"))
    await both.run(DeleteNamespace(name=f"{name}:inner", recursive=True, validate_only=True))
    await both.run(DeleteNamespace(name=f"{name}:inner", recursive=True))
    await both.run(DeleteTopics(topics=(both.asking.topic_id("orders"),)))


@BOTH_WAYS
async def test_questions_that_are_answered_tell_nothing_of_another_tenant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asking: Tenant, other: Tenant
) -> None:
    async with pair(tmp_path, monkeypatch, asking, other) as both:
        await both.run(CreateToken())
        await _ask_of_now(both)
        await _ask_of_the_past(both)
    assert both.questions == QUESTIONS_OF_TENANTS


async def _ask_of_now(both: Pair) -> None:
    name = both.asking.name
    topic = f"{name}:orders"
    for listing in (ListTopics(), ListTopics(pattern=".*"), ListTopics(namespace=name)):
        ((items, *_),) = await both.ask("topics list", listing)
        assert len(items) == 2
    for topics in ((), (topic, both.asking.topic_id("plans"))):
        await both.ask("topics describe", DescribeTopics(topics=topics))
    for each in (None, topic):
        await both.ask("partitions describe", DescribePartitions(topic=each))
        ((removals, *_),) = await both.ask("partitions removals", ListRemovals(topic=each))
        assert len(removals) == 1
    for type_, resource in ((TOPIC, topic), (NAMESPACE, name), (GROUP, f"{name}-group")):
        described = DescribeConfigs(resource_type=type_, resource_name=resource, effective=True)
        await both.ask("configs describe", described)
        await both.ask(
            "configs explain", ExplainConfigs(resource_type=type_, resource_name=resource)
        )
    ((namespaces, *_),) = await both.ask("namespaces list", ListNamespaces())
    assert len(namespaces) == 2
    for question, hidden in (
        ("namespaces list", ListNamespaces(below=both.other.name)),
        ("topics list", ListTopics(namespace=both.other.name)),
    ):
        asked = WireRequest(command=question, request=to_wire(hidden), point="end")
        assert await both.refused(asked) == "INVALID_TOPIC_EXCEPTION"
    ((subscriptions, *_),) = await both.ask("subscriptions list", ListSubscriptions())
    assert len(subscriptions) == 1
    ((tokens, *_),) = await both.ask("tokens describe", DescribeTokens())
    assert len(tokens) == 1


async def _ask_of_the_past(both: Pair) -> None:
    name = both.asking.name
    objects = (f"topic:{name}:orders", f"namespace:{name}", f"config:namespace/{name}")
    for each in objects:
        await both.ask("history", ShowHistory(object=each))
        await both.ask("blame", ShowBlame(object=each))
        await both.ask("diff", ShowDiff(before="start", object=each))
        await both.ask("dump", ShowRows(object=each))
    await both.ask("image", ShowImage())
    await both.ask("diff", ShowDiff(before="start"))
    await both.ask("partitions states", WalkStates(replicas=True))


_NOTE = NewBatch(records=(NoteRecord(at_offset=0, author="ann", text=""),))
_ROWS = AppendRows(rows=encode_rows(_NOTE), count=1)


@BOTH_WAYS
async def test_what_needs_the_cluster_is_refused_to_a_tenant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asking: Tenant, other: Tenant
) -> None:
    asker = Asker(asking, other, random.Random(5))
    async with pair(tmp_path, monkeypatch, asking, other) as both:
        for name in sorted(COMMANDS.keys() - COMMANDS_OF_TENANTS):
            request = to_wire(
                _ROWS if name == "records append" else asker.request(find_command(name).request)
            )
            code = await both.refused(WireRequest(command=name, request=request))
            assert code == "CLUSTER_AUTHORIZATION_FAILED", name
        for name in sorted(QUESTIONS.keys() - QUESTIONS_OF_TENANTS):
            request = to_wire(asker.request(find_question(name).request))
            asked = WireRequest(command=name, request=request, point="end")
            assert await both.refused(asked) == "CLUSTER_AUTHORIZATION_FAILED", name


def test_the_document_of_rights_names_every_command_and_question() -> None:
    text = (Path(__file__).parents[3] / "docs" / "authorization.md").read_text()
    table = text[text.index("## Rights") :].splitlines()
    requests = [
        set(re.findall(r"[\w-]+", line.split("|")[1])) for line in table if line.startswith("| ")
    ]
    verbs = {logged: verb for verb, logged in LOGGED_NAMES.items()}
    unnamed = [
        name
        for name in {verbs.get(each, each) for each in (COMMANDS.keys() | QUESTIONS.keys())}
        if not any(set(name.split()) <= words for words in requests)
    ]
    assert unnamed == []
