"""The JSON form of each question's answer, the same on the command line and over HTTP."""

from collections.abc import Callable
from typing import Any, cast

import msgspec

from api.documents.acls import Access, Acl, AclList, Created
from api.documents.brokers import Broker, BrokerList, OneBroker, Registration
from api.documents.comparisons import Differences
from api.documents.configs import ConfigsDescribed, ConfigsExplained
from api.documents.features import FeatureList
from api.documents.images import Image
from api.documents.incidents import Lives, Timeline
from api.documents.namespaces import Namespace, NamespaceList
from api.documents.notes import NoteList
from api.documents.topics import (
    ListedTopic,
    OnePartition,
    Partition,
    PartitionList,
    Reassignment,
    ReassignmentList,
    Removal,
    RemovalList,
    StateChange,
    Topic,
    TopicList,
    TopicsDescribed,
)
from api.documents.upgrades import Upgrade
from api.documents.usage import UsageRows
from api.documents.users import (
    QuotaExplained,
    QuotaList,
    Quotas,
    QuotasExplained,
    SubscriptionList,
    TokenList,
    User,
    UserList,
)
from api.questions.changes import Blame, ShowBlame
from api.questions.objects import joined
from api.questions.question import Question
from api.questions.table import AS_IT_IS, QUESTIONS, at_place
from controller.decisions.configs.effective import CLUSTER_DEFAULT
from controller.descriptions.acls import AccessExplained
from controller.descriptions.configs import ConfigSetting
from controller.descriptions.queries import DescribeConfigs, ExplainConfigs
from controller.descriptions.queries import TopicsDescribed as Answered
from records.text import uuid_text
from replay.image import configs

Fields = dict[str, Any]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The conversion of a question's answer to its JSON form, the document.

    Attributes:
        type: The document's type. For a stream, the type of one line; for an answer in pieces,
            dict.
        of: Creates a document from the request and the answer; from each item if the answer is a
            stream. An answer of many items that is not a stream is passed as a list.
        flags: Names of further boolean arguments of `of`.
        is_stream: True if each item is a document on a line of its own.
        has_place: False if the answer's position in the log is not added to the document.
        list_field: The field with the list of which a caller may ask for pages; None if there is
            none. Every page has the other fields, too.
        is_list: True if the items of the answer are those of the list.
    """

    type: Any
    of: Callable[..., msgspec.Struct | Fields]
    flags: tuple[str, ...] = ()
    is_stream: bool = False
    has_place: bool = True
    list_field: str | None = None
    is_list: bool = False


def _joined(request: Any, pieces: Any) -> Fields:
    return joined(pieces)


def _partitions(request: Any, answer: Any) -> msgspec.Struct:
    if request.topic is not None and request.partition_id is not None:
        (found,) = answer
        return OnePartition(partition=Partition.alone(found))
    return PartitionList(partitions=tuple(map(Partition.listed, answer)))


def topics_described(
    request: Any, answer: Answered, *, all_configs: bool = False
) -> TopicsDescribed:
    """Return the topics that were found; `all_configs`: include configs that topics inherit."""
    return TopicsDescribed(
        cluster_id=answer.cluster_id,
        controller_id=answer.controller_id,
        topics=tuple(
            [
                Topic.of(topic.description, all_configs=all_configs)
                for topic in answer.topics
                if topic.description is not None
            ]
        ),
    )


def _configs(request: DescribeConfigs, answer: Any) -> ConfigsDescribed:
    return configs_described(request, answer, _resource(request))


def configs_described(request: DescribeConfigs, answer: Any, resource: str) -> ConfigsDescribed:
    """Return the configs set on a resource; with `request.effective`, all that apply to it."""
    found = [each for each in answer.configs if request.effective or _is_own(each, request)]
    return ConfigsDescribed(resource=resource, version=answer.version, configs=found)


def _is_own(config: ConfigSetting, request: DescribeConfigs) -> bool:
    """True if a config is set on the resource itself."""
    type_, name = request.resource_type, request.resource_name
    own = (
        "cluster"
        if (type_, name) == (configs.BROKER, CLUSTER_DEFAULT)
        else configs.RESOURCE_NAMES[type_]
    )
    return config.source == own and config.namespace in (None, name)


def _explained(request: ExplainConfigs, answer: Any) -> ConfigsExplained:
    return ConfigsExplained(resource=_resource(request), configs=answer)


def _resource(request: DescribeConfigs | ExplainConfigs) -> str:
    type_, name = request.resource_type, request.resource_name
    if (type_, name) == (configs.BROKER, CLUSTER_DEFAULT):
        return "cluster"
    text = f"@{uuid_text(name)}" if isinstance(name, bytes) else name
    return f"{configs.RESOURCE_NAMES[type_]}/{text}"


def blame_of_access(answer: AccessExplained) -> ShowBlame | None:
    """Return a request for the record that created the deciding ACL entry, if there is one."""
    if answer.entry is None:
        return None
    return ShowBlame(object=f"acl:{uuid_text(answer.entry.acl_id)}#permission_type")


def access_explained(answer: AccessExplained, blame: Blame | None) -> Access:
    """Return the explanation of an access decision; `blame` is the answer to `blame_of_access`."""
    created = None
    if blame is not None:
        setter = blame.fields["permission_type"]
        if setter.known:
            created = Created(
                offset=setter.offset, timestamp=setter.timestamp, origin=setter.origin
            )
    return Access(
        allowed=answer.allowed,
        reason=answer.reason,
        entry=None if answer.entry is None else Acl.of(answer.entry),
        created=created,
    )


def _list(type_: Any, field: str, one: Callable[[Any], Any] | None = None) -> Document:
    """Return the `Document` of a list: a JSON object with one field."""

    def of(request: Any, answer: Any) -> msgspec.Struct:
        items = answer if one is None else map(one, answer)
        found: msgspec.Struct = type_(**{field: tuple(items)})
        return found

    return Document(type=type_, of=of, list_field=field, is_list=True)


def document_of(question: Question) -> Document | None:
    """Return the document of a question's answer; None for a report, which is a page."""
    place = QUESTIONS[question.name].document
    if place != AS_IT_IS:
        return None if place is None else cast(Document, at_place(place, "api.documents"))
    is_stream = question.answer is None
    type_ = question.item if is_stream else question.answer
    return Document(type=type_, of=lambda _, answer: answer, is_stream=is_stream)


TOPICS = _list(TopicList, "topics", ListedTopic.of)
TOPIC = Document(
    type=TopicsDescribed, of=topics_described, flags=("all_configs",), list_field="topics"
)
PARTITIONS = Document(type=PartitionList | OnePartition, of=_partitions, list_field="partitions")
REMOVALS = _list(RemovalList, "removals", Removal.of)
REASSIGNMENTS = _list(ReassignmentList, "reassignments", Reassignment.of)
BROKERS = _list(BrokerList, "brokers", Broker.of)
BROKER = Document(
    type=OneBroker, of=lambda _, found: OneBroker(broker=Registration.registered(found))
)
CONFIGS = Document(type=ConfigsDescribed, of=_configs, list_field="configs")
EXPLANATION = Document(type=ConfigsExplained, of=_explained, list_field="configs")
ACLS = _list(AclList, "acls", Acl.of)
ACCESS = Document(type=Access, of=lambda _, found: access_explained(found, None))
FEATURES = _list(FeatureList, "features")
NAMESPACES = _list(NamespaceList, "namespaces", Namespace.of)
USERS = _list(UserList, "users", User.of)
SUBSCRIPTIONS = _list(SubscriptionList, "subscriptions")
TOKENS = _list(TokenList, "tokens")
QUOTAS = _list(QuotaList, "quotas", Quotas.of)
QUOTAS_OF_CLIENT = _list(QuotasExplained, "quotas", QuotaExplained.of)
IMAGE = Document(type=Image, of=lambda _, pieces: Image(parts=joined(pieces)))
PIECES = Document(type=dict, of=_joined)
KRAFT_IMAGE = Document(type=dict, of=_joined, has_place=False)
DIFF = Document(type=Differences, of=Differences.of, list_field="changes")
STATES = Document(type=StateChange, of=lambda _, step: StateChange.of(step), is_stream=True)
USAGE = _list(UsageRows, "rows")
OUTAGES = Document(type=dict, of=_joined, list_field="intervals")
TIMELINE = _list(Timeline, "events")
NOTES = _list(NoteList, "notes")
LIVES = _list(Lives, "lives")
UPGRADE_CHECK = Document(type=Upgrade, of=lambda _, found: Upgrade(ready=not found, findings=found))
