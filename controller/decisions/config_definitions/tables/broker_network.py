"""Configs of brokers: process, network, quorum, metrics. Source: KafkaConfig of Kafka 4.0."""

BROKER_NETWORK = """
advertised.listeners | list | | | file
    Addresses that clients are told.
alter.config.policy.class.name | class | | | file
    Class that checks changes of configs.
broker.heartbeat.interval.ms | int | 2000 | | file
    Interval between heartbeats to the controller.
broker.id | int | -1 | | file
    Id of the broker; the older name of node.id.
broker.session.timeout.ms | int | 9000 | | file
    Time without heartbeats after which a broker is fenced.
client.quota.callback.class | class | | | file
    Class that decides client quotas.
client.quota.callback.static.class | class | | | file
    Class that decides client quotas, fixed at start.
client.quota.max.throttle.time.ms | int | 2147483647 | | file
    Longest time a client is throttled.
config.providers | list | | | file
    Providers of values that configs refer to.
connection.failed.authentication.delay.ms | int | 100 | 0.. | file
    Delay before a connection is closed whose authentication failed.
connections.max.idle.ms | long | 600000 | | file
    Time after which an idle connection is closed.
connections.max.reauth.ms | long | 0 | | file
    Lifetime of an authenticated session; 0 is without end.
controller.listener.names | list | | | file
    Listeners of the controller.
controller.performance.always.log.threshold.ms | long | 2000 | 0.. | file
    Events of the controller that take longer are logged. (4.1)
controller.performance.sample.period.ms | long | 60000 | 0.. | file
    Interval between logs of the controller's performance. (4.1)
controller.quorum.append.linger.ms | int | 25 | | file
    How long the quorum's leader waits for more records.
controller.quorum.auto.join.enable | boolean | false | | file
    Whether a controller joins the quorum by itself. (4.2)
controller.quorum.bootstrap.servers | list | | | file
    Addresses to find the quorum by. (3.9)
controller.quorum.election.backoff.max.ms | int | 1000 | | file
    Longest pause between elections of the quorum.
controller.quorum.election.timeout.ms | int | 1000 | | file
    Wait for votes before a new election of the quorum.
controller.quorum.fetch.timeout.ms | int | 2000 | | file
    Time without a fetch after which an election starts.
controller.quorum.request.timeout.ms | int | 2000 | | file
    Timeout of requests in the quorum.
controller.quorum.retry.backoff.ms | int | 20 | | file
    Pause before a request in the quorum is repeated.
controller.quorum.voters | list | | | file
    Voters of a static quorum, as id@host:port.
controller.quota.window.num | int | 11 | 1.. | file
    Samples kept for quotas of mutations.
controller.quota.window.size.seconds | int | 1 | 1.. | file
    Length of a sample for quotas of mutations.
controller.socket.timeout.ms | int | 30000 | | file
    Timeout of sockets to the controller.
create.topic.policy.class.name | class | | | file
    Class that checks new topics.
early.start.listeners | string | | | file
    Listeners that start before the authorizer is ready.
fetch.max.bytes | int | 57671680 | 1024.. | file
    Largest fetch response.
fetch.purgatory.purge.interval.requests | int | 1000 | | file
    Requests after which the fetch purgatory is cleaned.
initial.broker.registration.timeout.ms | int | 60000 | | file
    How long a broker tries to register.
inter.broker.listener.name | string | | | file
    Listener between brokers.
kafka.metrics.polling.interval.secs | int | 10 | 1.. | file
    Interval of Yammer metrics reporters.
kafka.metrics.reporters | list | | | file
    Yammer metrics reporters.
listener.security.protocol.map | string | | | broker
    Security protocol of each listener.
listeners | list | PLAINTEXT://:9092 | | broker
    Addresses that the broker listens on.
max.connection.creation.rate | int | 2147483647 | 0.. | cluster
    New connections a second.
max.connections | int | 2147483647 | 0.. | cluster
    Connections of the broker.
max.connections.per.ip | int | 2147483647 | 0.. | cluster
    Connections from one address.
max.connections.per.ip.overrides | string | | | cluster
    Connections from given hosts, as host:count.
max.incremental.fetch.session.cache.slots | int | 1000 | 0.. | file
    Incremental fetch sessions.
max.request.partition.size.limit | int | 2000 | 1.. | file
    Partitions in one response of DescribeTopicPartitions. (3.8)
metadata.log.dir | string | | | file
    Directory of the metadata log.
metadata.log.max.record.bytes.between.snapshots | long | 20971520 | 1.. | file
    Bytes of metadata records between snapshots.
metadata.log.max.snapshot.interval.ms | long | 3600000 | 0.. | file
    Longest time between metadata snapshots. (3.4)
metadata.log.segment.bytes | int | 1073741824 | 12.. | file
    Size of a segment of the metadata log.
metadata.log.segment.min.bytes | int | 8388608 | 12.. | file
    Smallest size of a segment of the metadata log.
metadata.log.segment.ms | long | 604800000 | | file
    Time after which a segment of the metadata log is closed.
metadata.max.idle.interval.ms | int | 500 | 0.. | file
    Interval of no-op records of an idle controller. (3.3)
metadata.max.retention.bytes | long | 104857600 | | file
    Bytes of the metadata log that are kept.
metadata.max.retention.ms | long | 604800000 | | file
    How long the metadata log is kept.
metric.reporters | list | | | cluster
    Metrics reporters.
metrics.num.samples | int | 2 | 1.. | file
    Samples kept for metrics.
metrics.recording.level | string | INFO | INFO DEBUG TRACE | file
    Highest level of recorded metrics.
metrics.sample.window.ms | long | 30000 | 1.. | file
    Length of a sample of metrics.
node.id | int | -1 | | file
    Id of the node.
num.io.threads | int | 8 | 1.. | cluster
    Threads that process requests.
num.network.threads | int | 3 | 1.. | cluster
    Threads that receive and send, for each listener.
process.roles | list | | broker controller | file
    Roles of the process.
queued.max.request.bytes | long | -1 | | file
    Bytes of waiting requests; -1 is no limit.
queued.max.requests | int | 500 | 1.. | file
    Waiting requests.
quota.window.num | int | 11 | 1.. | file
    Samples kept for client quotas.
quota.window.size.seconds | int | 1 | 1.. | file
    Length of a sample for client quotas.
replication.quota.window.num | int | 11 | 1.. | file
    Samples kept for throttled replication.
replication.quota.window.size.seconds | int | 1 | 1.. | file
    Length of a sample for throttled replication.
alter.log.dirs.replication.quota.window.num | int | 11 | 1.. | file
    Samples kept for throttled moves between directories.
alter.log.dirs.replication.quota.window.size.seconds | int | 1 | 1.. | file
    Length of a sample for throttled moves between directories.
request.timeout.ms | int | 30000 | | file
    Timeout of requests between brokers.
reserved.broker.max.id | int | 1000 | 0.. | file
    Largest broker id that was not generated.
server.max.startup.time.ms | long | 9223372036854775807 | 0.. | file
    Longest time that a start may take. (3.5)
socket.connection.setup.timeout.max.ms | long | 30000 | | file
    Longest wait for a connection.
socket.connection.setup.timeout.ms | long | 10000 | | file
    First wait for a connection.
socket.listen.backlog.size | int | 50 | 1.. | file
    Connections that wait to be accepted. (3.2)
socket.receive.buffer.bytes | int | 102400 | | file
    Receive buffer of sockets; -1 is the system's.
socket.request.max.bytes | int | 104857600 | 1.. | file
    Largest request.
socket.send.buffer.bytes | int | 102400 | | file
    Send buffer of sockets; -1 is the system's.
telemetry.max.bytes | int | 1048576 | 1.. | file
    Largest push of client metrics. (3.7)
"""
