"""What answers about namespaces show, depending on the caller's rights."""

from controller.authorization.authorizer import (
    CLUSTER,
    Access,
    Operation,
    group_resource,
    topic_resource,
)
from controller.authorization.caller import Caller
from controller.decisions.namespaces.move_effects import ConfigShift, MoveEffects
from controller.decisions.namespaces.namespaces import (
    CreateNamespace,
    DeleteNamespace,
    MoveTopics,
    NamespaceResult,
)
from controller.decisions.topics.subscriptions import Subscription
from controller.rights.namespace_rights import (
    CREATE_NAMESPACE,
    DELETE_NAMESPACE,
    MOVE_TOPICS,
)
from replay.image.metadata import MetadataImage
from tests.api.guarded import Right, Rights

G, H = Subscription("g", ".*"), Subscription("h", ".*")
SHIFT = ConfigShift(
    name="retention.ms", before="1", after="2", source="namespace", resource_name="b", topics=1
)
MOVED = NamespaceResult(
    topics=("a:t",),
    effects=MoveEffects(configs=(SHIFT,), subscriptions_lost=(G, H), subscriptions_gained=None),
)
MOVE = MoveTopics(from_namespace="a", to_namespace="b")


def _access(*rights: Right) -> Access:
    authorizer = Rights()
    authorizer.only = set(rights)
    return Access(authorizer, MetadataImage.EMPTY, Caller(principal="User:ann"))


def test_groups_that_the_caller_may_not_describe_are_left_out() -> None:
    access = _access((Operation.DESCRIBE, group_resource("g")))
    created = NamespaceResult(("n",), subscriptions=(G, H))
    shown = CREATE_NAMESPACE.shown_again(access, CreateNamespace("n"), created)
    assert shown.subscriptions == (G,)
    effects = MOVE_TOPICS.shown_again(access, MOVE, MOVED).effects
    assert (effects.subscriptions_lost, effects.subscriptions_gained) == ((G,), None)


def test_acls_are_for_those_who_may_describe_the_cluster() -> None:
    request = DeleteNamespace(name="n")
    seen = _access((Operation.DESCRIBE, CLUSTER))
    assert DELETE_NAMESPACE.shown_again(seen, request, NamespaceResult(("n",))).acls == ()
    assert DELETE_NAMESPACE.shown_again(_access(), request, NamespaceResult(("n",))).acls is None
    assert MOVE_TOPICS.shown_again(_access(), MOVE, MOVED).effects.acls_lost is None


def test_configs_are_for_those_who_may_describe_them_before_and_after_the_move() -> None:
    rights = [(Operation.DESCRIBE_CONFIGS, topic_resource(name)) for name in ("a:t", "b:t")]
    assert MOVE_TOPICS.shown_again(_access(*rights), MOVE, MOVED).effects.configs == (SHIFT,)
    for right in rights:
        assert MOVE_TOPICS.shown_again(_access(right), MOVE, MOVED).effects.configs is None


def test_an_answer_of_an_earlier_release_tells_no_effects() -> None:
    earlier = NamespaceResult(topics=("a:t",))
    assert MOVE_TOPICS.shown_again(_access(), MOVE, earlier) == earlier
