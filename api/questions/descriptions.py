"""Questions about a cluster at one point.

They can also be run as commands: alone, or as a step of a transaction. At the log's end a service
also uses information that is not in its log: the heartbeats.
"""

from typing import Any

from api.questions.question import Question
from controller.decisions.context.context import Context
from controller.descriptions.acls import (
    ExplainAccess,
    ListAcls,
    access_explained,
    acls_listed,
)
from controller.descriptions.queries import (
    DescribeConfigs,
    DescribeFeatures,
    DescribePartitions,
    DescribeTopics,
    ExplainConfigs,
    ListBrokers,
    ListNamespaces,
    ListRemovals,
    ListSubscriptions,
    ListTopics,
    broker_described,
    brokers_listed,
    configs_described,
    configs_explained,
    features_described,
    namespaces_listed,
    partitions_described,
    removals_listed,
    subscriptions_listed,
    topics_described,
    topics_listed,
)
from controller.descriptions.quotas import (
    DescribeQuotas,
    ExplainQuotas,
    quotas_described,
    quotas_explained,
)
from controller.descriptions.tokens import DescribeTokens, tokens_described
from controller.descriptions.users import DescribeUsers, users_described
from controller.descriptions.view import View
from controller.results.result import ControllerResult

TOPICS = Question(name="topics list", request=ListTopics, describe=topics_listed)
TOPIC = Question(name="topics describe", request=DescribeTopics, describe=topics_described)
PARTITIONS = Question(
    name="partitions describe", request=DescribePartitions, describe=partitions_described
)
REMOVALS = Question(name="partitions removals", request=ListRemovals, describe=removals_listed)
BROKERS = Question(name="brokers list", request=ListBrokers, describe=brokers_listed)
BROKER = Question(name="brokers describe", request=int, describe=broker_described)
CONFIGS = Question(name="configs describe", request=DescribeConfigs, describe=configs_described)
EXPLANATION = Question(name="configs explain", request=ExplainConfigs, describe=configs_explained)
FEATURES = Question(name="features describe", request=DescribeFeatures, describe=features_described)
NAMESPACES = Question(name="namespaces list", request=ListNamespaces, describe=namespaces_listed)
USERS = Question(name="users describe", request=DescribeUsers, describe=users_described)
SUBSCRIPTIONS = Question(
    name="subscriptions list", request=ListSubscriptions, describe=subscriptions_listed
)
ACLS = Question(name="acls list", request=ListAcls, describe=acls_listed)
ACCESS = Question(name="acls explain", request=ExplainAccess, describe=access_explained)
QUOTAS = Question(name="quotas describe", request=DescribeQuotas, describe=quotas_described)
QUOTAS_OF_CLIENT = Question(name="quotas explain", request=ExplainQuotas, describe=quotas_explained)
TOKENS = Question(name="tokens describe", request=DescribeTokens, describe=tokens_described)


def described(question: Question, context: Context, request: Any) -> ControllerResult[Any]:
    """Answer a question from the state in a decision's context; no records are written."""
    assert question.describe is not None, "a controller answers only descriptions"
    view = View(
        image=context.image,
        index=context.index,
        settings=context.settings,
        sessions=context.sessions,
    )
    return ControllerResult(response=question.describe(view, request))
