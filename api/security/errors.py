"""The error that is raised when authentication fails."""


class AuthenticationError(Exception):
    """A client, or a server, failed to prove its identity.

    The message gives the reason, for the log on this side. The other side is told only that
    authentication failed, so that it does not learn which users exist.
    """
