"""Create the tables of the history (every state of every object), and views for human readers."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the history's tables and views."""
    op.create_table(
        "history_position",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False, comment="Always 1."),
        sa.Column(
            "cluster_id",
            sa.Text(),
            nullable=False,
            comment="Of the log that this is the history of.",
        ),
        sa.Column(
            "start_offset",
            sa.BigInteger(),
            nullable=False,
            comment="What happened below this offset is unknown.",
        ),
        sa.Column(
            "end_offset",
            sa.BigInteger(),
            nullable=False,
            comment="Everything below this offset is here.",
        ),
        sa.Column(
            "leader_epoch", sa.BigInteger(), nullable=False, comment="Of the last record before it."
        ),
        sa.Column(
            "last_crc32c",
            sa.BigInteger(),
            nullable=True,
            comment="CRC-32C of the log's last block before it; with the epoch it proves which "
            "log.",
        ),
        sa.Column("rules", sa.BigInteger(), nullable=False, comment="Version of the replay rules."),
        sa.Column(
            "not_understood",
            sa.BigInteger(),
            nullable=False,
            comment="Records so far that the release which read them did not know.",
        ),
        sa.Column(
            "not_understood_from",
            sa.BigInteger(),
            nullable=True,
            comment="Offset of the first of them, if known.",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_history_position"),
        comment="One row: which log the tables are of, and up to where.",
    )
    op.create_table(
        "change",
        sa.Column(
            "offset", sa.BigInteger(), nullable=False, autoincrement=False, comment="Of the record."
        ),
        sa.Column(
            "time_ms",
            sa.BigInteger(),
            nullable=False,
            comment="When it was appended, ms since 1970.",
        ),
        sa.Column("record", sa.Text(), nullable=False, comment="Its type."),
        sa.Column(
            "effective_offset",
            sa.BigInteger(),
            nullable=True,
            comment="Where it takes effect: the end of its transaction, else its own offset; "
            "null: its transaction was aborted.",
        ),
        sa.Column(
            "principal", sa.Text(), nullable=True, comment="Who; null: the log does not say."
        ),
        sa.Column("client", sa.Text(), nullable=True, comment="The client's name and address."),
        sa.Column("command", sa.Text(), nullable=True, comment="What was done."),
        sa.Column("reason", sa.Text(), nullable=True, comment="Why."),
        sa.Column("request_id", sa.Text(), nullable=True, comment="Id of the request."),
        sa.Column(
            "trace_parent", sa.Text(), nullable=True, comment="W3C trace parent of the request."
        ),
        sa.PrimaryKeyConstraint("offset", name="pk_change"),
        comment="Each record that can change the cluster: when, who, why.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "topic_version",
        sa.Column(
            "topic_id",
            sa.String(22),
            nullable=False,
            comment="The topic's id, random and never used again.",
        ),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column(
            "name",
            sa.Text(),
            nullable=False,
            comment="The topic's name; inside a namespace, its last part.",
        ),
        sa.Column(
            "namespace_id",
            sa.String(22),
            nullable=True,
            comment="The namespace it lives in; null is the default namespace.",
        ),
        sa.PrimaryKeyConstraint("topic_id", "record_offset", name="pk_topic_version"),
        comment="Topics, by id.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "partition_version",
        sa.Column("topic_id", sa.String(22), nullable=False, comment="The topic's id."),
        sa.Column(
            "partition_id",
            sa.BigInteger(),
            nullable=False,
            comment="Number of the partition within its topic, from 0.",
        ),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column(
            "replicas",
            sa.Text(),
            nullable=False,
            comment="Broker ids that hold a replica, the preferred leader first.",
        ),
        sa.Column("isr", sa.Text(), nullable=False, comment="Broker ids in sync with the leader."),
        sa.Column(
            "removing_replicas",
            sa.Text(),
            nullable=False,
            comment="Replicas that a running reassignment will drop.",
        ),
        sa.Column(
            "adding_replicas",
            sa.Text(),
            nullable=False,
            comment="Replicas that a running reassignment brings in.",
        ),
        sa.Column(
            "leader",
            sa.BigInteger(),
            nullable=False,
            comment="Broker id of the leader; -1 when there is none.",
        ),
        sa.Column(
            "leader_recovery_state",
            sa.BigInteger(),
            nullable=False,
            comment="0 recovered, 1 recovering after an unclean election.",
        ),
        sa.Column(
            "leader_epoch",
            sa.BigInteger(),
            nullable=False,
            comment="Counts leaderships; grows with every change that names a leader.",
        ),
        sa.Column(
            "partition_epoch",
            sa.BigInteger(),
            nullable=False,
            comment="Counts changes of any kind.",
        ),
        sa.Column(
            "directories",
            sa.Text(),
            nullable=False,
            comment="Log directory id of each replica, in the order of replicas; empty when "
            "unknown.",
        ),
        sa.Column(
            "eligible_leader_replicas",
            sa.Text(),
            nullable=False,
            comment="Replicas outside the ISR that may still lead without loss; null when there"
            " are none.",
        ),
        sa.Column(
            "last_known_elr",
            sa.Text(),
            nullable=False,
            comment="The last members known before the eligible ones ran out; null when there "
            "are none.",
        ),
        sa.Column(
            "mode", sa.BigInteger(), nullable=False, comment="0 READ_WRITE, 1 READ_ONLY, -1 NONE."
        ),
        sa.PrimaryKeyConstraint(
            "topic_id", "partition_id", "record_offset", name="pk_partition_version"
        ),
        comment="Partitions: replicas, leader, in-sync replicas.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "config_version",
        sa.Column(
            "resource_type",
            sa.BigInteger(),
            nullable=False,
            comment="2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group, 64 "
            "namespace.",
        ),
        sa.Column(
            "resource_name",
            sa.Text(),
            nullable=False,
            comment="Full name of the resource; empty for the cluster-wide default of brokers.",
        ),
        sa.Column("name", sa.Text(), nullable=False, comment="The config key."),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column(
            "value", sa.Text(), nullable=False, comment="The new value; null removes the key."
        ),
        sa.PrimaryKeyConstraint(
            "resource_type", "resource_name", "name", "record_offset", name="pk_config_version"
        ),
        comment="Keys that are set; passwords too are as the log has them.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "namespace_version",
        sa.Column(
            "namespace_id", sa.String(22), nullable=False, comment="Random id of the namespace."
        ),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column("name", sa.Text(), nullable=False, comment="Full name, its tiers joined by ':'."),
        sa.PrimaryKeyConstraint("namespace_id", "record_offset", name="pk_namespace_version"),
        comment="Namespaces, by id.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "broker_version",
        sa.Column("broker_id", sa.BigInteger(), nullable=False, comment="The broker's id."),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column(
            "incarnation_id",
            sa.String(22),
            nullable=False,
            comment="Random id of this run of the broker's process.",
        ),
        sa.Column(
            "broker_epoch",
            sa.BigInteger(),
            nullable=False,
            comment="The offset at which this registration was written; a stale broker is known"
            " by a lower one.",
        ),
        sa.Column(
            "end_points",
            sa.Text(),
            nullable=False,
            comment="Where clients and other brokers reach it, one entry a listener.",
        ),
        sa.Column(
            "features",
            sa.Text(),
            nullable=False,
            comment="The feature levels this broker supports.",
        ),
        sa.Column(
            "rack", sa.Text(), nullable=True, comment="The rack, or null when none is configured."
        ),
        sa.Column(
            "fenced",
            sa.Boolean(),
            nullable=False,
            comment="True when the broker may not lead or join an ISR.",
        ),
        sa.Column(
            "in_controlled_shutdown",
            sa.Boolean(),
            nullable=False,
            comment="True while the broker hands its leaderships over before it stops.",
        ),
        sa.Column(
            "is_migrating_zk_broker",
            sa.Boolean(),
            nullable=False,
            comment="True while the broker still runs in ZooKeeper mode during a migration.",
        ),
        sa.Column(
            "log_dirs",
            sa.Text(),
            nullable=False,
            comment="Ids of the broker's log directories that are online.",
        ),
        sa.PrimaryKeyConstraint("broker_id", "record_offset", name="pk_broker_version"),
        comment="Registered brokers.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "controller_version",
        sa.Column("controller_id", sa.BigInteger(), nullable=False, comment="The controller's id."),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column(
            "incarnation_id",
            sa.String(22),
            nullable=False,
            comment="Random id of this run of the controller's process.",
        ),
        sa.Column(
            "zk_migration_ready",
            sa.Boolean(),
            nullable=False,
            comment="True when it can take part in a migration from ZooKeeper.",
        ),
        sa.Column(
            "end_points",
            sa.Text(),
            nullable=False,
            comment="Where it is reached, one entry a listener.",
        ),
        sa.Column(
            "features",
            sa.Text(),
            nullable=False,
            comment="The feature levels this controller supports.",
        ),
        sa.PrimaryKeyConstraint("controller_id", "record_offset", name="pk_controller_version"),
        comment="Registered controllers.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "feature_version",
        sa.Column("name", sa.Text(), nullable=False, comment="Name of the feature."),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column("feature_level", sa.BigInteger(), nullable=False, comment="The finalized level."),
        sa.PrimaryKeyConstraint("name", "record_offset", name="pk_feature_version"),
        comment="Finalized feature levels.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "acl_version",
        sa.Column("id", sa.String(22), nullable=False, comment="Random id of the entry."),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column(
            "resource_type",
            sa.BigInteger(),
            nullable=False,
            comment="2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user.",
        ),
        sa.Column(
            "resource_name", sa.Text(), nullable=False, comment="Name or prefix of the resource."
        ),
        sa.Column(
            "pattern_type", sa.BigInteger(), nullable=False, comment="3 literal, 4 prefixed."
        ),
        sa.Column(
            "principal", sa.Text(), nullable=False, comment="Who it applies to, such as User:alice."
        ),
        sa.Column("host", sa.Text(), nullable=False, comment="The host it applies to, * for any."),
        sa.Column(
            "operation", sa.BigInteger(), nullable=False, comment="Code of the operation; 2 is all."
        ),
        sa.Column("permission_type", sa.BigInteger(), nullable=False, comment="2 deny, 3 allow."),
        sa.PrimaryKeyConstraint("id", "record_offset", name="pk_acl_version"),
        comment="ACLs, by id.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "client_quota_version",
        sa.Column(
            "entity",
            sa.Text(),
            nullable=False,
            comment="The parts that together name the entity; their order has no meaning.",
        ),
        sa.Column("key", sa.Text(), nullable=False, comment="Name of the quota."),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column(
            "value", sa.Double(), nullable=True, comment="The limit, in the quota's own unit."
        ),
        sa.Column(
            "value_bits",
            sa.BigInteger(),
            nullable=False,
            comment="The bits of value, which a float column cannot always keep.",
        ),
        sa.PrimaryKeyConstraint("entity", "key", "record_offset", name="pk_client_quota_version"),
        comment="Client quotas.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "scram_version",
        sa.Column("name", sa.Text(), nullable=False, comment="User name."),
        sa.Column(
            "mechanism",
            sa.BigInteger(),
            nullable=False,
            comment="1 SCRAM-SHA-256, 2 SCRAM-SHA-512.",
        ),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column("salt", sa.Text(), nullable=False, comment="Random salt."),
        sa.Column(
            "stored_key",
            sa.Text(),
            nullable=False,
            comment="Hash that the server checks the client's proof against. Secret.",
        ),
        sa.Column(
            "server_key",
            sa.Text(),
            nullable=False,
            comment="Key the server proves itself with. Secret.",
        ),
        sa.Column(
            "iterations", sa.BigInteger(), nullable=False, comment="Rounds of the key derivation."
        ),
        sa.PrimaryKeyConstraint("name", "mechanism", "record_offset", name="pk_scram_version"),
        comment="SCRAM credentials, with their keys as the log has them.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "delegation_token_version",
        sa.Column("token_id", sa.Text(), nullable=False, comment="The token's id."),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column("owner", sa.Text(), nullable=False, comment="Principal that owns the token."),
        sa.Column("requester", sa.Text(), nullable=False, comment="Principal that asked for it."),
        sa.Column("renewers", sa.Text(), nullable=False, comment="Principals that may renew it."),
        sa.Column(
            "issue_timestamp",
            sa.BigInteger(),
            nullable=False,
            comment="When it was issued, ms since 1970.",
        ),
        sa.Column(
            "max_timestamp",
            sa.BigInteger(),
            nullable=False,
            comment="The latest time it can be renewed to, ms since 1970.",
        ),
        sa.Column(
            "expiration_timestamp",
            sa.BigInteger(),
            nullable=False,
            comment="When it expires unless renewed, ms since 1970.",
        ),
        sa.PrimaryKeyConstraint("token_id", "record_offset", name="pk_delegation_token_version"),
        comment="Delegation tokens.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "pending_removal_version",
        sa.Column("topic_id", sa.String(22), nullable=False, comment="The topic's id."),
        sa.Column(
            "partition_id", sa.BigInteger(), nullable=False, comment="The partitions to remove."
        ),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column(
            "delay_ms",
            sa.BigInteger(),
            nullable=False,
            comment="How long they stay readable, in ms from create_time_ms.",
        ),
        sa.Column(
            "create_time_ms",
            sa.BigInteger(),
            nullable=False,
            comment="When the removal was asked for, ms since 1970.",
        ),
        sa.PrimaryKeyConstraint(
            "topic_id", "partition_id", "record_offset", name="pk_pending_removal_version"
        ),
        comment="Partitions that are to be removed.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "replica_deletion_version",
        sa.Column("topic_id", sa.String(22), nullable=False, comment="The topic's id."),
        sa.Column(
            "partition_id", sa.BigInteger(), nullable=False, comment="Number of the partition."
        ),
        sa.Column(
            "broker_id",
            sa.BigInteger(),
            nullable=False,
            comment="The broker that holds the replica.",
        ),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column(
            "state",
            sa.BigInteger(),
            nullable=False,
            comment="4 started, 5 successful, 6 ineligible, 7 gone (no longer tracked).",
        ),
        sa.PrimaryKeyConstraint(
            "topic_id",
            "partition_id",
            "broker_id",
            "record_offset",
            name="pk_replica_deletion_version",
        ),
        comment="Replicas that brokers are deleting.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "note_version",
        sa.Column(
            "at_offset", sa.BigInteger(), nullable=False, comment="The offset the note is about."
        ),
        sa.Column("author", sa.Text(), nullable=False, comment="Who wrote it."),
        sa.Column(
            "text_sha256", sa.String(64), nullable=False, comment="SHA-256 of text, hexadecimal."
        ),
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column("text", sa.Text(), nullable=False, comment="What it says."),
        sa.PrimaryKeyConstraint(
            "at_offset", "author", "text_sha256", "record_offset", name="pk_note_version"
        ),
        comment="Notes.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "producer_ids_version",
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column("broker_id", sa.BigInteger(), nullable=False, comment="The broker that asked."),
        sa.Column("broker_epoch", sa.BigInteger(), nullable=False, comment="Its broker epoch."),
        sa.Column(
            "next_producer_id",
            sa.BigInteger(),
            nullable=False,
            comment="The first id after the block.",
        ),
        sa.PrimaryKeyConstraint("record_offset", name="pk_producer_ids_version"),
        comment="The last block of producer ids.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "zk_migration_version",
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
        sa.Column(
            "zk_migration_state",
            sa.BigInteger(),
            nullable=False,
            comment="0 none, 1 migration, 2 pre-migration, 3 post-migration, 4 ZooKeeper.",
        ),
        sa.PrimaryKeyConstraint("record_offset", name="pk_zk_migration_version"),
        comment="State of a migration from ZooKeeper.",
        sqlite_with_rowid=False,
    )
    for name, query in _VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS {query.format(**_sizes())}")


def downgrade() -> None:
    """Drop the history's views and tables, with all rows."""
    for name in reversed(_VIEWS):
        op.execute(f"DROP VIEW {name}")
    for name in _TABLES:
        op.drop_table(name)


def _sizes() -> dict[str, str]:
    """Return SQL expressions that count the elements of a partition's lists, by column name."""
    array = "p.{}" if op.get_bind().dialect.name == "sqlite" else "p.{}::json"
    lists = ("isr", "replicas", "adding_replicas")
    return {f"{each}_size": f"json_array_length({array.format(each)})" for each in lists}


# Of intervals that follow each other without a gap, one row, with the topic's name of its begin.
# A state that its own transaction replaced held nowhere.
_INTERVALS = """
SELECT '{kind}' AS kind, t.topic, i.*, i.to_ms - i.from_ms AS duration_ms
FROM (
  SELECT topic_id, partition_id,
    MIN(valid_from_offset) AS from_offset,
    CASE WHEN COUNT(valid_to_offset) = COUNT(*) THEN MAX(valid_to_offset) END AS to_offset,
    CASE WHEN COUNT(valid_from_ms) = COUNT(*) THEN MIN(valid_from_ms) END AS from_ms,
    CASE WHEN COUNT(valid_to_ms) = COUNT(*) THEN MAX(valid_to_ms) END AS to_ms
  FROM (
    SELECT s.*, SUM(CASE WHEN before_to = valid_from_offset THEN 0 ELSE 1 END)
      OVER (PARTITION BY topic_id, partition_id ORDER BY record_offset) AS number
    FROM (
      SELECT h.*, LAG(valid_to_offset)
        OVER (PARTITION BY topic_id, partition_id ORDER BY record_offset) AS before_to
      FROM partition_states h
      WHERE {kind} = 1 AND (valid_to_offset IS NULL OR valid_to_offset > valid_from_offset)
    ) s
  ) numbered
  GROUP BY topic_id, partition_id, number
) i
JOIN topic_states t ON t.topic_id = i.topic_id
  AND t.valid_from_offset <= i.from_offset
  AND (t.valid_to_offset IS NULL OR t.valid_to_offset > i.from_offset)
"""

_PARTITIONS = """
SELECT t.topic, p.*,
  CASE WHEN p.leader = -1 THEN 1 ELSE 0 END AS leaderless,
  CASE WHEN {isr_size} < {replicas_size} - {adding_replicas_size} THEN 1 ELSE 0 END
    AS under_replicated
FROM partition_version p
"""

_VIEWS = {
    "topic_states": """
        SELECT CASE WHEN n.name IS NULL THEN t.name ELSE n.name || ':' || t.name END AS topic, t.*
        FROM topic_version t
        LEFT JOIN namespace_version n ON n.namespace_id = t.namespace_id
          AND n.valid_from_offset <= t.valid_from_offset
          AND (n.valid_to_offset IS NULL OR n.valid_to_offset > t.valid_from_offset)
    """,
    "topics_now": "SELECT * FROM topic_states WHERE valid_to_offset IS NULL",
    "partition_states": _PARTITIONS
    + """
        JOIN topic_states t ON t.topic_id = p.topic_id
          AND t.valid_from_offset <= p.valid_from_offset
          AND (t.valid_to_offset IS NULL OR t.valid_to_offset > p.valid_from_offset)
    """,
    # A topic may have moved since the partition's state began.
    "partitions_now": _PARTITIONS
    + "JOIN topics_now t ON t.topic_id = p.topic_id WHERE p.valid_to_offset IS NULL",
    "under_replicated": "SELECT * FROM partitions_now WHERE under_replicated = 1",
    "outages": _INTERVALS.replace("{kind}", "leaderless")
    + " UNION ALL "
    + _INTERVALS.replace("{kind}", "under_replicated"),
    "changes_by_principal": """
        SELECT principal, command, record, COUNT(*) AS changes,
          MIN(time_ms) AS first_ms, MAX(time_ms) AS last_ms
        FROM change WHERE effective_offset IS NOT NULL
        GROUP BY principal, command, record
    """,
}

_TABLES = (
    "history_position",
    "change",
    "topic_version",
    "partition_version",
    "config_version",
    "namespace_version",
    "broker_version",
    "controller_version",
    "feature_version",
    "acl_version",
    "client_quota_version",
    "scram_version",
    "delegation_token_version",
    "pending_removal_version",
    "replica_deletion_version",
    "note_version",
    "producer_ids_version",
    "zk_migration_version",
)
