// The names in expressions, as in docs/expressions.md; a test compares them with those of the service.

/** The fields of the objects in each collection. @type {Record<string, string[]>} */
export const COLLECTIONS = {
  topics: ["topic_id", "name", "namespace_id", "partitions", "configs", "namespace"],
  partitions: ["topic_id", "partition_id", "replicas", "isr", "removing_replicas", "adding_replicas", "leader", "leader_recovery_state", "leader_epoch", "partition_epoch", "directories", "eligible_leader_replicas", "last_known_elr", "mode"],
  brokers: ["broker_id", "incarnation_id", "broker_epoch", "end_points", "features", "rack", "fenced", "in_controlled_shutdown", "is_migrating_zk_broker", "log_dirs", "cordoned_log_dirs"],
  controllers: ["controller_id", "incarnation_id", "zk_migration_ready", "end_points", "features"],
  voters: ["voter_id", "voter_directory_id", "endpoints", "kraft_version_feature"],
  namespaces: ["namespace_id", "name"],
  configs: [],
  features: ["name", "feature_level", "level"],
  acls: ["id", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type"],
  quotas: ["entity", "key", "value"],
  scram: ["name", "mechanism", "salt", "stored_key", "server_key", "iterations"],
  tokens: ["token_id", "owner", "requester", "renewers", "issue_timestamp", "max_timestamp", "expiration_timestamp"],
  removals: ["topic_id", "partition_id", "delay_ms", "create_time_ms"],
  deletions: ["topic_id", "partition_id", "broker_id", "state"],
  notes: ["at_offset", "author", "text"],
  cluster: ["producer_ids", "zk_migration", "kraft_version"],
};

export const MACROS = ["exists", "all", "exists_one", "filter", "map"];
export const FUNCTIONS = ["size", "has", "int", "string"];
export const METHODS = ["startsWith", "endsWith", "contains", "size"];
