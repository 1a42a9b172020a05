"""Limits of HTTP, each with its reason; those of connections are in `api/transport/limits.py`."""

from metadata_log.limits import BATCH_SIZE_BYTES_MAX, MIB

HEAD_SIZE_BYTES_MAX = 64 * 1024
"""Request line and headers: questions carry expressions and lists in the query."""

PIECE_SIZE_BYTES = 1024
"""Heads are parsed in pieces of this size: it may hold some sixty requests of a client that sends
them without waiting, and each takes a few KiB until it is answered."""

BODY_SIZE_BYTES_MAX = MIB
"""Of a command: a thousand topics with their configs."""

RECORDS_SIZE_BYTES_MAX = 2 * BATCH_SIZE_BYTES_MAX
"""Of an append: a batch as JSON lines is about twice as large as in the log."""

PARSED_AT_ONCE_BYTES_MAX = 16 * 1024
"""Records of this size are parsed in about a millisecond; more are parsed in a thread, which costs
as much as a record or two, so that others have their turn."""

CONNECTIONS_MAX = 1_200
"""What `--http-connections` is without it: a thousand streams of events, and those that ask. A
stream costs some 20 KiB, and what its client has not taken yet."""

WATCHING_RESERVE = 16
"""Further connections for health, readiness and metrics alone, so that streams of events never keep
those out that watch the service."""

COMPRESSED_BYTES_MIN = 1024
"""Smaller answers fit into a packet as they are."""

COMPRESSED_ON_LOOP_BYTES_MAX = 64 * 1024
"""Compressed in about a millisecond; larger answers are compressed in a thread, so that others have
their turn."""

DOCUMENTS_AT_ONCE = 4
"""Answers that are one document are put together in memory; more than these wait."""

WRITE_STALL_S = 60.0
"""A client that takes none of its answer for this long is disconnected."""

LINGER_S = 60.0
"""How long answers to a client that closed its sending side may take."""

UNSENT_BYTES_MAX = 64 * 1024
"""What a connection may have written and not sent before its answer waits."""

HEARTBEAT_S = 15.0
"""Silence in a stream of events after which a comment is sent, before proxies close it."""

GROWTH_INTERVAL_S = 0.5
"""Least time between two growths of a web page: a person sees no more, and each is computed."""

EVENTS_A_CHUNK = 200
"""Records that a stream sends before others have their turn."""

RETRY_AFTER_S = 1
"""When an unavailable service is asked again: a take-over takes about as long."""

CLOSE_TIMEOUT_S = 5.0
"""How long answers in progress may take when the service ends."""

PAGE_RECORDS = 20_000
"""Records that the web page shows if it is not told which: hours of a busy cluster, at once."""

PAGE_RECORDS_MAX = 200_000
"""Records of a range that the web page is told to show: they take a worker half a minute."""
