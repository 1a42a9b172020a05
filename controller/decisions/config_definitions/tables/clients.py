"""Configs of groups and of client metrics. Source: GroupConfig, ClientMetricsConfigs, KIP-714."""

GROUPS = """
consumer.heartbeat.interval.ms | int | 5000 | 1.. | | group.consumer.heartbeat.interval.ms
    Heartbeat interval of the group's consumers. (4.0)
consumer.session.timeout.ms | int | 45000 | 1.. | | group.consumer.session.timeout.ms
    Time without heartbeats after which a consumer is out of the group. (4.0)
share.auto.offset.reset | string | latest | /latest|earliest|by_duration:P.+/
    Where a share group starts to read. (4.0)
share.heartbeat.interval.ms | int | 5000 | 1.. | | group.share.heartbeat.interval.ms
    Heartbeat interval of the share group's consumers. (4.0)
share.isolation.level | string | read_uncommitted | read_committed read_uncommitted
    Whether a share group reads records of open transactions. (4.1)
share.record.lock.duration.ms | int | 30000 | 1000.. | | group.share.record.lock.duration.ms
    How long a record stays locked for a consumer. (4.0)
share.session.timeout.ms | int | 45000 | 1.. | | group.share.session.timeout.ms
    Time without heartbeats after which a share consumer is out of the group. (4.0)
streams.heartbeat.interval.ms | int | 5000 | 1.. | | group.streams.heartbeat.interval.ms
    Heartbeat interval of the streams group. (4.1)
streams.num.standby.replicas | int | 0 | 0.. | | group.streams.num.standby.replicas
    Standby replicas of a task of the streams group. (4.1)
streams.session.timeout.ms | int | 45000 | 1.. | | group.streams.session.timeout.ms
    Time without heartbeats after which a member is out of the streams group. (4.1)
subscribed.topic.regex | string
    Pattern of the topics that the group consumes; `subscriptions register` sets it. (ours)
"""

CLIENT_METRICS = """
interval.ms | int | 300000 | 100..3600000
    How often clients push these metrics. (3.7)
match | list | | /(client_instance_id|client_id|client_software_name|client_software_version|client_source_address|client_source_port)=.+/
    Which clients push, as attribute=pattern; all must match. (3.7)
metrics | list
    Prefixes of the names of metrics to push; * is all. (3.7)
"""  # noqa: E501 - rows of a table

LOG_LEVELS = "FATAL ERROR WARN INFO DEBUG TRACE OFF"
"""Levels of a broker's loggers."""
