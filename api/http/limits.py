"""Limits of HTTP, each with its reason; those of connections are in `api/transport/limits.py`."""

from metadata_log.limits import BATCH_SIZE_BYTES_MAX, MIB

HEAD_SIZE_BYTES_MAX = 64 * 1024
"""Request line and headers: questions carry expressions and lists in the query."""

PIECE_SIZE_BYTES = 1024
"""Heads are parsed in pieces of this size. A piece may hold about sixty pipelined requests, each of
which takes a few KiB until it is answered."""

BODY_SIZE_BYTES_MAX = MIB
"""Body of a command: room for a thousand topics with their configs."""

RECORDS_SIZE_BYTES_MAX = 2 * BATCH_SIZE_BYTES_MAX
"""Body of an append: a batch as JSON lines is about twice as large as in the log."""

CONNECTIONS_MAX = 1_200
"""Default of `--http-connections`: a thousand event streams, and other requests. A stream takes
about 20 KiB, plus the events that its client has not received yet."""

WATCHING_RESERVE = 16
"""Further connections, only for health, readiness and metrics, so that event streams never keep
monitoring out."""

COMPRESSED_BYTES_MIN = 1024
"""Size from which answers are compressed; smaller ones fit into one packet anyway."""

COMPRESSED_ON_LOOP_BYTES_MAX = 64 * 1024
"""Answers of this size are compressed in about a millisecond; larger ones in a thread, so that
other requests get their turn."""

DOCUMENTS_AT_ONCE = 4
"""How many single-document answers are built in memory at once; further ones wait."""

WRITE_STALL_S = 60.0
"""A client that takes none of its answer for this long is disconnected."""

LINGER_S = 60.0
"""How long answers to a client that closed its sending side may take."""

UNSENT_BYTES_MAX = 64 * 1024
"""Unsent bytes of a connection above which its answer waits."""

HEARTBEAT_S = 15.0
"""Time without events after which a stream sends a comment, so that proxies do not close it."""

GROWTH_INTERVAL_S = 0.5
"""Minimum time between two updates of a web page: people cannot follow faster updates."""

EVENTS_A_CHUNK = 200
"""Records that a stream sends before other requests get their turn."""

RETRY_AFTER_S = 1
"""Seconds after which to retry an unavailable service; a take-over takes about as long."""

CLOSE_TIMEOUT_S = 5.0
"""How long answers in progress may take when the service ends."""

PAGE_RECORDS = 20_000
"""Records that the web page shows by default: hours of a busy cluster, shown without a wait."""

PAGE_RECORDS_MAX = 200_000
"""Most records of a range that the web page shows on request: a worker takes half a minute."""
