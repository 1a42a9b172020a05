"""The interface for admin requests."""

from typing import Any, Protocol

from controller.results.answer import Answer


class Admin(Protocol):
    """Runs the commands of `api.requests.commands` by name.

    `api.admin.local.LocalAdmin` decides in this process as the only writer of a log;
    `api.Session` uses a service of this process, `api.MetadataClient` a service over a connection.
    """

    async def run(
        self,
        command: str,
        request: Any,
        *,
        reason: str | None = None,
        request_id: str | None = None,
        trace_parent: str | None = None,
    ) -> Answer[Any]:
        """Run a command, and answer once it is committed.

        Args:
            request: The command's request, such as `CreateTopics`.
            reason: Stored in the log with the records.
            request_id: Chosen by the caller. After a lost answer, the caller may retry with the
                same id: the request is carried out only once, and the retry gets the first answer.
            trace_parent: The request's W3C trace parent; stored in the log.

        Raises:
            RequestError: the whole request is refused.
            UnavailableError: the request cannot be decided now, and changed nothing; or no answer
                came, and the outcome is unknown.
        """
        ...
