"""The option --keep-going: read-only verbs skip records that contradict the state before them."""

from contextvars import ContextVar

KEEP_GOING: ContextVar[bool] = ContextVar("keep going", default=False)
"""Value of --keep-going."""

VERBS = frozenset(
    {
        "bisect",
        "blame",
        "check",
        "diff",
        "du",
        "history",
        "image",
        "outages",
        "timeline",
        "why",
    }
)
"""The verbs that take it: none that stores, exports or digests what it computes."""
