"""The traps: what a controller must not do to a Kafka broker, and what becomes of the broker.

Source: the rules of Kafka's source for the raft client (`KafkaRaftClient`, `QuorumState`), the
loader of metadata and the life cycle of a broker (`BrokerLifecycleManager`), 3.9 to 4.3.
"""

import enum


class Fate(enum.Enum):
    """What becomes of a Kafka broker that meets a trap."""

    EXITS = "the broker's process exits"
    HANGS = "the broker never serves"
    LOOPS = "the broker repeats the request without a pause"


class Trap(enum.Enum):
    """A rule that a controller broke; the value is the broker's fate, and the rule in words."""

    def __init__(self, fate: Fate, rule: str) -> None:
        self.fate = fate
        self.rule = rule

    # Requests and versions
    VERSION_MISSING = Fate.HANGS, "a key or version that the broker needs is not advertised"
    VERSION_REFUSAL = Fate.HANGS, "ApiVersions of an unknown version is answered by version 0"
    MALFORMED = Fate.EXITS, "an answer has the layout of its version"
    LATE = Fate.HANGS, "an answer comes within 2 s"

    # The raft client
    INVALID_REQUEST = Fate.EXITS, "the partition's error in an answer is not INVALID_REQUEST"
    UNAUTHORIZED = Fate.EXITS, "Fetch is not answered with CLUSTER_AUTHORIZATION_FAILED"
    OTHER_CLUSTER = Fate.HANGS, "the cluster id is that of the broker"
    UNEXPECTED_ERROR = Fate.HANGS, "an error is one that the raft client expects"
    NO_LEADER = Fate.LOOPS, "each answer of a partition names the current leader and its epoch"
    EPOCH_BEHIND = Fate.LOOPS, "the leader's epoch is not below one that the broker has seen"
    LEADER_IS_THE_BROKER = Fate.EXITS, "the leader has not the broker's node id"
    TWO_LEADERS = Fate.EXITS, "an epoch has one leader"
    LEADER_WITHOUT_ADDRESS = Fate.EXITS, "a leader that is no known voter comes with its address"
    LEADER_NO_VOTER = Fate.HANGS, "the leader is one of the voters, at the controllers' listener"
    VOTERS_APART = Fate.EXITS, "voters differ from those before by one added and one removed"
    LEADER_NOT_FOUND = Fate.HANGS, "a node that does not lead names the one that does"
    WRONG_TOPIC = Fate.HANGS, "an answer is about the topic of the metadata log"
    OFFSET = Fate.EXITS, "records begin where the broker's log ends, at the same batch boundaries"
    BATCH_CUT = Fate.HANGS, "an answer has at least one whole batch"
    DAMAGED = Fate.HANGS, "a batch has the CRC that its header says"
    EPOCH_ORDER = Fate.EXITS, "epochs of batches rise, up to the leader's"
    DIVERGING = Fate.EXITS, "what is below the high watermark is not truncated"
    DIVERGING_IN_VAIN = Fate.LOOPS, "a diverging epoch shortens the broker's log"
    SNAPSHOT_OLD = Fate.EXITS, "a snapshot is newer than the broker's log"
    SNAPSHOT_CHUNK = Fate.EXITS, "a chunk is of the asked snapshot, at the asked position"
    SNAPSHOT_GONE = Fate.HANGS, "a snapshot that an answer names can be fetched"
    SNAPSHOT_INCOMPLETE = Fate.EXITS, "a snapshot has its header and its footer"
    NOT_COMMITTED = Fate.HANGS, "the high watermark reaches the records that are served"
    HIGH_WATERMARK_BACK = Fate.EXITS, "the high watermark does not go back"

    # The loader
    BAD_RECORD = Fate.EXITS, "a record can be decoded by the broker's release"
    CONTRADICTION = Fate.EXITS, "a record fits the records before it"
    NO_METADATA_VERSION = Fate.EXITS, "the log sets metadata.version"
    METADATA_VERSION = Fate.EXITS, "metadata.version is a level that the broker's release knows"
    NO_RECORDS = Fate.HANGS, "the log has a committed record"

    # The life cycle
    NOT_REGISTERED = Fate.EXITS, "the registration succeeds"
    REGISTRATION_RECORD = Fate.HANGS, "the log has the registration as it was asked for"
    BROKER_EPOCH = Fate.HANGS, "broker epochs are unique and rise"
    HEARTBEAT_ERROR = Fate.HANGS, "a heartbeat of the registered process succeeds"
    CAUGHT_UP_EARLY = Fate.HANGS, "a broker is caught up only once it has its own registration"
    NOT_CAUGHT_UP = Fate.HANGS, "a broker that has its own registration is caught up"
    UNFENCED_EARLY = Fate.HANGS, "a broker that wants to be fenced is fenced"
    NOT_UNFENCED = Fate.HANGS, "a broker that is caught up is unfenced when it wants that"
    NO_SHUTDOWN = Fate.HANGS, "a broker that wants to shut down is told when"


class BrokenError(AssertionError):
    """A Kafka broker would not have survived this."""

    def __init__(self, trap: Trap, detail: str) -> None:
        super().__init__(f"{trap.name}: {detail} (rule: {trap.rule}; else {trap.fate.value})")
        self.trap = trap
