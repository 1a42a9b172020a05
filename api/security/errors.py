"""Failed authentications."""


class AuthenticationError(Exception):
    """A client, or a server, did not prove who it is.

    The message says why, for this side's log. The other side is told only that it failed, so that
    it does not learn which users exist.
    """
