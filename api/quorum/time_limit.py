"""How long an observer waits for an answer."""

from api.quorum.requests import MAX_WAIT_MS

LEAST_S = 2 + MAX_WAIT_MS / 1_000
MOST_S = 40.0
"""8 MiB take that long on a slow line."""


class TimeLimit:
    """Doubles with each answer that is late, and shrinks to twice what an answer took.

    Attributes:
        seconds: The limit of the next request.
    """

    def __init__(self, least_s: float = LEAST_S) -> None:
        self._least_s = least_s
        self.seconds = least_s

    def missed(self) -> None:
        """An answer did not come in time."""
        self.seconds = min(self.seconds * 2, MOST_S)

    def kept(self, took_s: float) -> None:
        """An answer came after `took_s`: otherwise a silent leader would be noticed late."""
        self.seconds = max(self._least_s, min(self.seconds, 2 * took_s))
