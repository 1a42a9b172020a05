"""Limits of the connections of a process, each with its reason.

They apply to the Kafka listeners of the service and of the broker, and to the append socket, whose
own limits are in `api/socket/limits.py`.
"""

from metadata_log.limits import MIB

KIB = 1024

KAFKA_CONNECTIONS_MAX = 1_000
"""Maximum connections of a process: a client has one to each node, so these are 1,000 clients."""

DESCRIPTOR_RESERVE = 128
"""File descriptors kept free for the log: a start reads many segments, a roll and a commit mark
open a few, a snapshot is an SQLite database with two side files. Accepting needs some, too: a
connection closed to make room frees its descriptor only a moment later."""

DESCRIPTORS_MIN = 64
"""Minimum limit of open files; with fewer the log itself cannot work, so serving is refused."""

BROKER_RESERVE = 64
"""Connections reserved for brokers, so that clients never keep brokers out: a broker has two
connections to the controller, and reopens both after an error."""

FIRST_REQUEST_TIMEOUT_S = 30.0
"""Longest time until a connection's first request. Clients send one at once, unless their machine
was paused."""

TLS_HANDSHAKE_TIMEOUT_S = 10.0
AUTHENTICATION_TIMEOUT_S = 30.0
"""Longest time from the end of the TLS handshake to the last SASL message."""

TLS_HANDSHAKES_MAX = 64
"""Maximum concurrent TLS handshakes, which do not count as connections yet. Each further one ends
the oldest. Part of `DESCRIPTOR_RESERVE`."""

CLOSE_TIMEOUT_S = 5.0
"""Longest time that closing waits for a client to read the rest and to answer the end of TLS.
asyncio's 30 s would also delay the stop of the service."""

UNAUTHENTICATED_FRAME_BYTES_MAX = 32 * KIB
"""Maximum frame before the login: more than any message of PLAIN and SCRAM needs. Kafka's
`sasl.server.max.receive.size` is 512 KiB."""

FRAME_TIMEOUT_S = 60.0
"""Longest time from the first byte of a frame to its last; the service's largest frame (16 MiB)
needs 280 KB/s."""

IDLE_TIMEOUT_S = 600.0
"""Idle time after which a connection is closed: Kafka's `connections.max.idle.ms`. Clients connect
again for their next request."""

SMALL_FRAME_BYTES = 64 * KIB
"""Size of requests in flight, per connection, that need no share of `RECEIVE_BYTES_MAX`: large
requests of other connections never delay them."""

RECEIVE_BYTES_MAX = 64 * MIB
"""Maximum bytes of all connections' frames above SMALL_FRAME_BYTES, each counted from the
announcement of its length to its answer. Beyond this, further large frames are not read until one
is answered. Four of the service's largest frames fit; a larger frame is accepted alone."""

STREAM_BYTES_MAX = 32 * KIB
"""Maximum received and unparsed bytes of a connection; asyncio stops reading at twice this."""

RECEIVE_BUFFER_BYTES = 64 * KIB
"""Maximum bytes read from a connection at once."""

STALL_TIMEOUT_S = 3.0
PROGRESS_BYTES = 64 * KIB
"""Bytes that a connection with a share must send every `STALL_TIMEOUT_S` while other large frames
wait for a share; else the connection is closed."""

SWEEP_S = 1.0
"""Interval at which time limits are checked; the shortest limit is three times as long."""

ACCEPT_PAUSE_S = 1.0
"""Pause in accepting connections when the process has no file descriptor left; new connections
wait in the operating system's queue."""

ACCEPTS_A_TURN = 16
"""Connections accepted in one turn of the event loop, before open ones are served again."""

REFUSALS_MAX = 32
"""Refused connections that may stay open to receive the error; further ones are closed at once.
Part of `DESCRIPTOR_RESERVE`."""

assert ACCEPTS_A_TURN + REFUSALS_MAX + TLS_HANDSHAKES_MAX < DESCRIPTOR_RESERVE
assert SMALL_FRAME_BYTES <= PROGRESS_BYTES < RECEIVE_BYTES_MAX
assert SWEEP_S < STALL_TIMEOUT_S < FIRST_REQUEST_TIMEOUT_S < FRAME_TIMEOUT_S < IDLE_TIMEOUT_S
