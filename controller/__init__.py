"""The controller: decisions, placement, and the serial loop that writes their records.

The names listed below are the public ones, documented in `docs/library.md`. They are imported
lazily, on first use.
"""

from records.exports import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from controller.authorization.authorizer import ALLOW_ALL as ALLOW_ALL
    from controller.authorization.authorizer import Access as Access
    from controller.authorization.authorizer import Authorizer as Authorizer
    from controller.authorization.authorizer import Operation as Operation
    from controller.authorization.authorizer import Resource as Resource
    from controller.authorization.authorizer import ResourceType as ResourceType
    from controller.authorization.caller import Caller as Caller
    from controller.controller import Controller as Controller
    from controller.decisions.configs.changes import AlterConfigs as AlterConfigs
    from controller.decisions.configs.changes import ConfigChange as ConfigChange
    from controller.decisions.configs.changes import ResourceChange as ResourceChange
    from controller.decisions.context.context import Settings as Settings
    from controller.decisions.namespaces.namespaces import CreateNamespace as CreateNamespace
    from controller.decisions.namespaces.namespaces import DeleteNamespace as DeleteNamespace
    from controller.decisions.namespaces.namespaces import MoveTopics as MoveTopics
    from controller.decisions.notes import AddNote as AddNote
    from controller.decisions.outcome import Refusal as Refusal
    from controller.decisions.partitions.assignments import Assignment as Assignment
    from controller.decisions.topics.growth import CreatePartitions as CreatePartitions
    from controller.decisions.topics.growth import TopicGrowth as TopicGrowth
    from controller.decisions.topics.partition_removal import DeletePartitions as DeletePartitions
    from controller.decisions.topics.partition_removal import TopicShrink as TopicShrink
    from controller.decisions.topics.topics import CreateTopics as CreateTopics
    from controller.decisions.topics.topics import DeleteTopics as DeleteTopics
    from controller.decisions.topics.topics import NewTopic as NewTopic
    from controller.decisions.versions import ExpectedVersion as ExpectedVersion
    from controller.decisions.versions import VersionMismatchError as VersionMismatchError
    from controller.descriptions.configs import DescribeConfigs as DescribeConfigs
    from controller.descriptions.topics import DescribeTopics as DescribeTopics
    from controller.results.answer import Answer as Answer
else:
    __all__, __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "authorization.authorizer": (
                "ALLOW_ALL Access Authorizer Operation Resource ResourceType"
            ),
            "authorization.caller": "Caller",
            "controller": "Controller",
            "decisions.configs.changes": "AlterConfigs ConfigChange ResourceChange",
            "decisions.context.context": "Settings",
            "decisions.namespaces.namespaces": "CreateNamespace DeleteNamespace MoveTopics",
            "decisions.notes": "AddNote",
            "decisions.outcome": "Refusal",
            "decisions.partitions.assignments": "Assignment",
            "decisions.topics.growth": "CreatePartitions TopicGrowth",
            "decisions.topics.partition_removal": "DeletePartitions TopicShrink",
            "decisions.topics.topics": "CreateTopics DeleteTopics NewTopic",
            "decisions.versions": "ExpectedVersion VersionMismatchError",
            "descriptions.configs": "DescribeConfigs",
            "descriptions.topics": "DescribeTopics",
            "results.answer": "Answer",
        },
    )
