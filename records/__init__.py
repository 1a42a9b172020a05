"""The records: typed classes, their schemas, and their encodings.

The public names below are listed in `docs/library.md`. Importing the package imports none of them.
"""

from records.exports import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from records.base import ZERO_UUID as ZERO_UUID
    from records.base import Record as Record
    from records.base import Uuid as Uuid
    from records.brokers import BrokerEndpoint as BrokerEndpoint
    from records.brokers import BrokerFeature as BrokerFeature
    from records.brokers import BrokerRegistrationChangeRecord as BrokerRegistrationChangeRecord
    from records.brokers import ControllerEndpoint as ControllerEndpoint
    from records.brokers import ControllerFeature as ControllerFeature
    from records.brokers import FenceBrokerRecord as FenceBrokerRecord
    from records.brokers import RegisterBrokerRecord as RegisterBrokerRecord
    from records.brokers import RegisterControllerRecord as RegisterControllerRecord
    from records.brokers import UnfenceBrokerRecord as UnfenceBrokerRecord
    from records.brokers import UnregisterBrokerRecord as UnregisterBrokerRecord
    from records.brokers import UnregisterControllerRecord as UnregisterControllerRecord
    from records.configs import ClientQuotaRecord as ClientQuotaRecord
    from records.configs import ConfigRecord as ConfigRecord
    from records.configs import EntityData as EntityData
    from records.configs import FeatureLevelRecord as FeatureLevelRecord
    from records.configs import ProducerIdsRecord as ProducerIdsRecord
    from records.configs import ZkMigrationStateRecord as ZkMigrationStateRecord
    from records.control import AbortTransactionRecord as AbortTransactionRecord
    from records.control import BeginTransactionRecord as BeginTransactionRecord
    from records.control import EndTransactionRecord as EndTransactionRecord
    from records.control import KRaftVersionFeature as KRaftVersionFeature
    from records.control import KRaftVersionRecord as KRaftVersionRecord
    from records.control import LeaderChangeMessage as LeaderChangeMessage
    from records.control import LeaderChangeVoter as LeaderChangeVoter
    from records.control import NoOpRecord as NoOpRecord
    from records.control import NoOpRunRecord as NoOpRunRecord
    from records.control import NoteRecord as NoteRecord
    from records.control import QuorumVoter as QuorumVoter
    from records.control import SnapshotFooterRecord as SnapshotFooterRecord
    from records.control import SnapshotHeaderRecord as SnapshotHeaderRecord
    from records.control import UnknownRecord as UnknownRecord
    from records.control import VoterEndpoint as VoterEndpoint
    from records.control import VotersRecord as VotersRecord
    from records.envelope import Envelope as Envelope
    from records.envelope import Origin as Origin
    from records.errors import ContradictionError as ContradictionError
    from records.errors import CorruptLogError as CorruptLogError
    from records.errors import FencedError as FencedError
    from records.errors import MetadataLogError as MetadataLogError
    from records.errors import Outcome as Outcome
    from records.errors import RequestError as RequestError
    from records.errors import UnavailableError as UnavailableError
    from records.errors import UnknownHistoryError as UnknownHistoryError
    from records.json import from_json as from_json
    from records.json import to_json as to_json
    from records.partitions import (
        CancelDeleteTopicPartitionsRecord as CancelDeleteTopicPartitionsRecord,
    )
    from records.partitions import ClearElrRecord as ClearElrRecord
    from records.partitions import DeleteTopicPartitionsRecord as DeleteTopicPartitionsRecord
    from records.partitions import PartitionChangeRecord as PartitionChangeRecord
    from records.partitions import PartitionRecord as PartitionRecord
    from records.partitions import RemovePartitionsRecord as RemovePartitionsRecord
    from records.partitions import ReplicaDeletionRecord as ReplicaDeletionRecord
    from records.security import AccessControlEntryRecord as AccessControlEntryRecord
    from records.security import DelegationTokenRecord as DelegationTokenRecord
    from records.security import RemoveAccessControlEntryRecord as RemoveAccessControlEntryRecord
    from records.security import RemoveDelegationTokenRecord as RemoveDelegationTokenRecord
    from records.security import RemoveUserScramCredentialRecord as RemoveUserScramCredentialRecord
    from records.security import UserScramCredentialRecord as UserScramCredentialRecord
    from records.text import parse_uuid as parse_uuid
    from records.text import uuid_text as uuid_text
    from records.topics import MoveTopicRecord as MoveTopicRecord
    from records.topics import NamespaceRecord as NamespaceRecord
    from records.topics import RemoveNamespaceRecord as RemoveNamespaceRecord
    from records.topics import RemoveTopicRecord as RemoveTopicRecord
    from records.topics import TopicRecord as TopicRecord
else:
    __all__, __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "base": "Record Uuid ZERO_UUID",
            "brokers": (
                "BrokerEndpoint BrokerFeature BrokerRegistrationChangeRecord ControllerEndpoint "
                "ControllerFeature FenceBrokerRecord RegisterBrokerRecord "
                "RegisterControllerRecord UnfenceBrokerRecord UnregisterBrokerRecord "
                "UnregisterControllerRecord"
            ),
            "configs": (
                "ClientQuotaRecord ConfigRecord EntityData FeatureLevelRecord ProducerIdsRecord "
                "ZkMigrationStateRecord"
            ),
            "control": (
                "AbortTransactionRecord BeginTransactionRecord EndTransactionRecord "
                "KRaftVersionFeature KRaftVersionRecord LeaderChangeMessage LeaderChangeVoter "
                "NoOpRecord NoOpRunRecord NoteRecord QuorumVoter SnapshotFooterRecord "
                "SnapshotHeaderRecord UnknownRecord VoterEndpoint VotersRecord"
            ),
            "envelope": "Envelope Origin",
            "errors": (
                "ContradictionError CorruptLogError FencedError MetadataLogError Outcome "
                "RequestError UnavailableError UnknownHistoryError"
            ),
            "json": "from_json to_json",
            "partitions": (
                "CancelDeleteTopicPartitionsRecord ClearElrRecord DeleteTopicPartitionsRecord "
                "PartitionChangeRecord PartitionRecord RemovePartitionsRecord "
                "ReplicaDeletionRecord"
            ),
            "security": (
                "AccessControlEntryRecord DelegationTokenRecord RemoveAccessControlEntryRecord "
                "RemoveDelegationTokenRecord RemoveUserScramCredentialRecord "
                "UserScramCredentialRecord"
            ),
            "text": "parse_uuid uuid_text",
            "topics": (
                "MoveTopicRecord NamespaceRecord RemoveNamespaceRecord RemoveTopicRecord "
                "TopicRecord"
            ),
        },
    )
