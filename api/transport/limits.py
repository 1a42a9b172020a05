"""Limits of the connections of a process, each with its reason.

They apply to the Kafka listeners of the service and of the broker, and to the append socket, whose
own limits are in `api/socket/limits.py`.
"""

from metadata_log.limits import MIB

KIB = 1024

KAFKA_CONNECTIONS_MAX = 1_000
"""A client holds one connection to each node, so this is a thousand clients."""

DESCRIPTOR_RESERVE = 128
"""Open files that connections leave to the log: a start reads many segments, a roll and a mark
open a few, a snapshot is an SQLite database with two side files. Accepting also needs some: a
connection that is closed for a new one gives its descriptor back a moment later."""

DESCRIPTORS_MIN = 64
"""Below this the log itself does not get far; serving is refused."""

BROKER_RESERVE = 64
"""Places that only brokers can take, so that clients never keep them out: a broker has two
connections to the controller, and makes both anew after an error."""

FIRST_REQUEST_TIMEOUT_S = 30.0
"""Clients speak as soon as they are connected; 30 s also lets a stopped machine go on."""

TLS_HANDSHAKE_TIMEOUT_S = 10.0
AUTHENTICATION_TIMEOUT_S = 30.0
"""From the connection to the end of the TLS handshake, and from there to the last SASL message."""

TLS_HANDSHAKES_MAX = 64
"""TLS handshakes at once; they have no place among the connections yet. For each one more the
oldest is ended. Part of `DESCRIPTOR_RESERVE`."""

CLOSE_TIMEOUT_S = 5.0
"""How long a client may take for what is left to send, and to answer the end of TLS. asyncio alone
would wait for 30 s, and the stop of the service with it."""

UNAUTHENTICATED_FRAME_BYTES_MAX = 32 * KIB
"""Above any message of PLAIN and SCRAM; Kafka's `sasl.server.max.receive.size` is 512 KiB."""

FRAME_TIMEOUT_S = 60.0
"""From the first byte of a frame to its last. The largest frame of the service (16 MiB) comes in
time at 280 KB/s."""

IDLE_TIMEOUT_S = 600.0
"""Kafka's `connections.max.idle.ms`. Clients connect again when they have something to ask."""

SMALL_FRAME_BYTES = 64 * KIB
"""Requests in flight up to this size, per connection, need no share of `RECEIVE_BYTES_MAX`: they
are never held up by the large requests of others."""

RECEIVE_BYTES_MAX = 64 * MIB
"""Larger frames of all connections together, from the announcement of their length to the answer.
When it is used up, further large frames are not read until one is answered. Four of the largest
frames of the service; one larger frame is taken alone."""

STREAM_BYTES_MAX = 32 * KIB
"""What a connection may have received and not looked at; asyncio stops reading at twice this."""

RECEIVE_BUFFER_BYTES = 64 * KIB
"""What is read from a connection at once."""

STALL_TIMEOUT_S = 3.0
PROGRESS_BYTES = 64 * KIB
"""While large frames wait for a share, a connection that has one must bring `PROGRESS_BYTES`
every `STALL_TIMEOUT_S`, or it is closed."""

SWEEP_S = 1.0
"""How often time limits are checked: the shortest one is three times as long."""

ACCEPT_PAUSE_S = 1.0
"""How long no connection is accepted when the process has no descriptor left. Those that come
wait in the queue of the system."""

ACCEPTS_A_TURN = 16
"""Connections accepted before others are served again."""

REFUSALS_MAX = 32
"""Connections beyond the maximum that are open just to be told so; more are closed at once. They
are part of `DESCRIPTOR_RESERVE`."""

assert ACCEPTS_A_TURN + REFUSALS_MAX + TLS_HANDSHAKES_MAX < DESCRIPTOR_RESERVE
assert SMALL_FRAME_BYTES <= PROGRESS_BYTES < RECEIVE_BYTES_MAX
assert SWEEP_S < STALL_TIMEOUT_S < FIRST_REQUEST_TIMEOUT_S < FRAME_TIMEOUT_S < IDLE_TIMEOUT_S
