"""The input of a decision: the image, data derived from it, settings, time and randomness.

A decision is a pure function of a context and a request. Time and randomness are part of the
context, so the same inputs give the same records.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Protocol, TypeVar

import msgspec
from immutables import Map

from controller.authorization.authorizer import ALLOW_ALL, Access, Authorizer
from controller.authorization.caller import CONTROLLER, Caller
from controller.decisions.config_definitions.brokers import BROKER_CONFIGS
from controller.decisions.config_definitions.definition import whole_number
from controller.decisions.context.cluster_index import ClusterIndex
from controller.decisions.context.lazy_index import LazyIndex
from controller.decisions.context.mutation_quotas import MutationBuckets
from controller.decisions.context.sessions import Sessions
from controller.decisions.ids import IdSource
from controller.decisions.levels import (
    ELR_FEATURE,
    ELR_LEVEL,
    METADATA_VERSION,
    METADATA_VERSION_OLDEST,
)
from controller.placement.balanced import BalancedPlacer
from controller.placement.placer import PlacementRng, Placer
from controller.results.quota_charges import Allowance, Charge
from controller.results.result import ControllerResult
from metadata_log.limits import BATCH_RECORDS_MAX
from records.base import Record
from records.envelope import Origin
from records.errors import RequestError
from replay.image.metadata import MetadataImage

T = TypeVar("T")

USER_OPERATION_RECORDS_MAX = BATCH_RECORDS_MAX
"""Maximum number of records that a request may write: they must fit in one batch."""


class Rng(IdSource, PlacementRng, Protocol):
    """Random number source of decisions: `random.SystemRandom()`, or `random.Random(seed)`."""


class PlannedTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A new topic that passed all other checks; input of the topic policy."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


TopicPolicy = Callable[[PlannedTopic], None]
"""An operator's check of new topics: raises RequestError POLICY_VIOLATION to refuse one."""


class PlannedConfigs(msgspec.Struct, frozen=True, kw_only=True):
    """Config changes of one resource that passed all other checks; input of the config policy.

    `configs` contains the new values of the configs in the request; None deletes one. If the
    request replaces all configs, the ones it omits are deleted, but are not in `configs`, as in
    Kafka (KAFKA-14195).
    """

    resource_type: int
    resource_name: str
    configs: Mapping[str, str | None]


ConfigPolicy = Callable[[PlannedConfigs], None]
"""An operator's check of changed configs: raises RequestError POLICY_VIOLATION to refuse them."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a controller, fixed at its start.

    `static_configs` is the static configuration file: server-level names and their values.
    `node_id` is the id of the BROKER resource whose configs this controller itself uses.
    `topic_policy` is the last check of every new topic, `config_policy` of every config change,
    including the configs of new topics; None allows all. `authorizer` decides which operations
    callers are allowed. `transaction_timeout_ms`: a transaction still open after this time is
    aborted. All other requests wait for its end, even heartbeats, so it should be well below the
    session timeout. `accepts_unknown_configs`: accept configs without a definition unchecked, as
    they occur in a log of another release of Kafka.
    """

    cluster_id: str = ""
    node_id: int = 3000
    session_timeout_ms: int = 9_000
    transaction_timeout_ms: int = 3_000
    static_configs: Mapping[str, str] = Map()
    placer: Placer = BalancedPlacer()
    topic_policy: TopicPolicy | None = None
    config_policy: ConfigPolicy | None = None
    authorizer: Authorizer = ALLOW_ALL
    accepts_unknown_configs: bool = False

    def static_number(self, name: str) -> int:
        """Return the value of a numeric static config; its default if it is not set."""
        value = whole_number(self.static_configs.get(name, ""))
        return int(BROKER_CONFIGS[name].default) if value is None else value


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a decision: the cluster's state, the settings, time, randomness and the caller.

    `sessions` is the state from heartbeats. `now_ms` is the time of the decision, ms since 1970;
    `next_offset` is the offset of the first record that the decision writes. `origin` is the
    request's origin as logged, `caller` is the sender, and `buckets` has the clients' remaining
    quotas. `step_max` is the number of records after which a decision that can be continued stops
    (see `in_steps`); None: no limit.
    `begun` is the response of the decision's previous step; None for the first one.
    """

    image: MetadataImage
    lazy_index: LazyIndex
    sessions: Sessions
    settings: Settings
    rng: Rng
    now_ms: int
    next_offset: int
    origin: Origin | None = None
    caller: Caller = CONTROLLER
    buckets: MutationBuckets = MutationBuckets()
    step_max: int | None = None
    begun: Any = None

    @property
    def index(self) -> ClusterIndex:
        """The index of the image, as `LazyIndex.read`."""
        return self.lazy_index.read()

    @property
    def access(self) -> Access:
        """The caller's rights."""
        return Access(self.settings.authorizer, self.image, self.caller)

    @property
    def allowance(self) -> Allowance:
        """The caller's remaining quota for creating and deleting partitions."""
        return self.buckets.allowance(self.image, self.origin, self.now_ms)

    @property
    def metadata_version(self) -> int:
        """The finalized metadata.version; the oldest one if the log has none."""
        return self.image.feature(METADATA_VERSION) or METADATA_VERSION_OLDEST

    @property
    def elr_enabled(self) -> bool:
        """True if eligible leader replicas are tracked."""
        switched_on = (self.image.feature(ELR_FEATURE) or 0) > 0
        return switched_on and self.metadata_version >= ELR_LEVEL

    def is_active(self, broker_id: int) -> bool:
        """True if a broker may become leader and join an ISR."""
        broker = self.image.broker(broker_id)
        return broker is not None and not broker.fenced and not broker.in_controlled_shutdown

    def require_feature(self, name: str, purpose: str) -> None:
        """Check that a feature is finalized, so that every broker understands it.

        Raises:
            RequestError: UNSUPPORTED_VERSION, the feature is not finalized.
        """
        if not self.image.feature(name):
            raise RequestError(
                "UNSUPPORTED_VERSION",
                f"{purpose} need the feature {name}; once every broker supports it, run "
                f"`metalog features upgrade {name}=1`",
            )

    def require_level(self, level: int, purpose: str) -> None:
        """Check that the metadata.version is at least `level`.

        Raises:
            RequestError: UNSUPPORTED_VERSION, it is lower.
        """
        if self.metadata_version < level:
            raise RequestError(
                "UNSUPPORTED_VERSION",
                f"{purpose} need metadata.version {level} or higher, the cluster has "
                f"{self.metadata_version}; run `metalog features upgrade metadata.version={level}` "
                "first",
            )


def in_steps(context: Context, response: T, records: Iterable[Record]) -> ControllerResult[T]:
    """Return the result of the next step of a decision that may have any number of records.

    Every prefix of the records must leave a valid state, and the decision, made again on that state
    or on a later one, must yield the rest. So other decisions may come between two steps, and a
    crash loses nothing but time.

    Args:
        records: Read only up to the limit of the step.
    """
    if context.step_max is None:
        return ControllerResult(response=response, records=tuple(records), atomic=False)
    found = tuple(islice(records, context.step_max + 1))
    step = found[: context.step_max]
    return ControllerResult(
        response=response, records=step, atomic=False, is_partial=len(step) < len(found)
    )


class TooLargeError(RequestError):
    """Raised if a request makes too many records; it is refused as a whole."""

    def __init__(self) -> None:
        super().__init__(
            "POLICY_VIOLATION",
            f"excessively large batch: one request may make {USER_OPERATION_RECORDS_MAX} records; "
            "split it",
        )


class RecordList:
    """The records of one request, limited in number. `CountedRecordList` also counts partitions."""

    def __init__(self) -> None:
        self._records: list[Record] = []

    def add(self, *records: Record) -> None:
        """Append records.

        Raises:
            TooLargeError: there would be too many records.
        """
        self.reserve(len(records))
        self._records.extend(records)

    def reserve(self, count: int) -> None:
        """Check early that `count` more records fit, before they are computed.

        Raises:
            TooLargeError: there would be too many.
        """
        if len(self._records) + count > USER_OPERATION_RECORDS_MAX:
            raise TooLargeError

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The number of partitions to subtract from each quota."""
        return ()

    @property
    def records(self) -> tuple[Record, ...]:
        """The records, in order."""
        return tuple(self._records)

    def result(
        self, response: T, *, validate_only: bool = False, atomic: bool = True
    ) -> ControllerResult[T]:
        """Return the decision's result, with the collected records.

        Args:
            validate_only: Leave the records out; the response stays the same.
            atomic: The records must become visible together.
        """
        result = ControllerResult(
            response=response, records=self.records, atomic=atomic, charges=self.charges
        )
        return result.unless(validate_only)
