"""The nodes of a service: which of them the next request goes to."""

from urllib.parse import urlsplit

_SCHEMES = ("http", "https")


class Nodes:
    """The base URLs of a service's nodes. Several threads may share them.

    Attributes:
        first: Base URL of the node to ask next.
    """

    def __init__(self, url: str) -> None:
        """Take a URL apart, such as `http://HOST:PORT` or `http://HOST:PORT,HOST:PORT`.

        Raises:
            ValueError: the URL begins neither with `http://` nor with `https://`.
        """
        self._scheme, separator, rest = url.rstrip("/").partition("://")
        if self._scheme not in _SCHEMES or not separator:
            raise ValueError(f"{url!r} is not a URL such as http://127.0.0.1:8080")
        hosts, slash, path = rest.partition("/")
        self._listed = [f"{self._scheme}://{host}{slash}{path}" for host in hosts.split(",")]
        self.first = self._listed[0]

    @property
    def count(self) -> int:
        """How many nodes the URL names."""
        return len(self._listed)

    def leave(self, node: str, leader: str | None = None) -> None:
        """Ask another node from now on, unless another thread has gone on to one already.

        Args:
            leader: URL to which the node redirects; None: it does not know the leader.
        """
        if node != self.first:
            return
        # The token, if there is one, must not leave the encrypted connection.
        if leader is not None and urlsplit(leader).scheme == self._scheme:
            self.first = f"{self._scheme}://{urlsplit(leader).netloc}"
        else:
            self.first = self._after(node)

    def _after(self, node: str) -> str:
        if node not in self._listed:
            return self._listed[0]
        return self._listed[(self._listed.index(node) + 1) % self.count]
