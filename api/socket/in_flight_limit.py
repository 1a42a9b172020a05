"""Flow control: limits the requests in flight."""

from collections.abc import Callable


class InFlightLimit:
    """Counts requests in flight and their bytes; one per connection, one for the whole server.

    Once full, it counts as full until half of the limits is free again: stopping and starting a
    reader at each request would cost more than it saves.
    """

    def __init__(self, requests_max: int, bytes_max: int) -> None:
        self._requests_max = requests_max
        self._bytes_max = bytes_max
        # A dict, because it is ordered: first come, first called, and only once.
        self._waiting: dict[Callable[[], None], None] = {}
        self.requests = 0
        self.size_bytes = 0
        self.is_full = False

    def take(self, size_bytes: int) -> None:
        """Count one more request."""
        self.requests += 1
        self.size_bytes += size_bytes
        if self.requests >= self._requests_max or self.size_bytes >= self._bytes_max:
            self.is_full = True

    def give_back(self, size_bytes: int) -> None:
        """Count one request less; if half is free again, call the callbacks of `when_free`."""
        self.requests -= 1
        self.size_bytes -= size_bytes
        if (
            self.is_full
            and 2 * self.requests <= self._requests_max
            and 2 * self.size_bytes <= self._bytes_max
        ):
            self.is_full = False
            waiting, self._waiting = self._waiting, {}
            for call in waiting:
                call()

    def when_free(self, call: Callable[[], None]) -> None:
        """Call `call` once, as soon as half is free."""
        self._waiting[call] = None
