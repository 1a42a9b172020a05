"""Limits of the socket, each with its reason."""

from metadata_log.limits import BATCH_SIZE_BYTES_MAX, MIB, PENDING_BATCHES_MAX

# Every batch that the log accepts fits: rows in a frame have smaller offsets and no times, and the
# rest of the frame is far smaller than this.
FRAME_SIZE_BYTES_MAX = BATCH_SIZE_BYTES_MAX + 64 * 1024

# Maximum size of an answer, as in Kafka's protocol: a client trusts its server.
ANSWER_SIZE_BYTES_MAX = 100 * MIB

# A HELLO, a message of a login and a refusal are a few hundred bytes; before the WELCOME nothing
# larger is accepted.
HELLO_SIZE_BYTES_MAX = 4 * 1024

# A connection whose requests are that many is not read from until some are answered. It is enough
# for several groups of one sync; more would only wait in the log instead of in the network.
CONNECTION_REQUESTS_MAX = 1_024

# The same for their bytes: two of the largest batches, one being written and one coming in.
CONNECTION_BYTES_MAX = 2 * FRAME_SIZE_BYTES_MAX

# All connections together leave the log room for callers in its own process.
SERVER_REQUESTS_MAX = PENDING_BATCHES_MAX // 2
SERVER_BYTES_MAX = 64 * MIB

# A process that appends shares one connection among its callers. What all connections hold of
# frames that are not whole is bounded in `api/transport/limits.py`, as are silent and idle ones.
CONNECTIONS_MAX = 256

# What the other side does not fetch; beyond it a server reads no further requests from that client,
# and a client lets its callers wait.
UNSENT_BYTES_MAX = 256 * 1024

# A client sends when it has encoded this many, so that the server decodes them meanwhile. Measured
# with 64 callers: a tenth to a fifth faster than all of them at once; fewer make more syscalls.
UNSENT_REQUESTS_MAX = 32

# From connecting to WELCOME, login included: a peer that says nothing does not keep its place.
# Shorter than for Kafka's requests, because the client says hello by itself.
HANDSHAKE_TIMEOUT_S = 10.0

# A client that was told why it is refused, or that the server ends, has this long to disconnect.
GOODBYE_TIMEOUT_S = 2.0

# How long closing waits for requests in flight and for clients that are slow to fetch answers.
CLOSE_TIMEOUT_S = 10.0

assert HELLO_SIZE_BYTES_MAX < FRAME_SIZE_BYTES_MAX < CONNECTION_BYTES_MAX <= SERVER_BYTES_MAX
assert CONNECTION_REQUESTS_MAX < SERVER_REQUESTS_MAX < PENDING_BATCHES_MAX
