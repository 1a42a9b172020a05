"""What an administrator can ask, wherever it is decided."""

from typing import Any, Protocol

from controller.pending_answers import Answer


class Admin(Protocol):
    """Takes the decisions of `api.commands` by name.

    `api.admin.local.LocalAdmin` decides in this process as the only writer of a log;
    `api.session.Session` asks a service of this process, `api.client.MetadataClient` one across a
    connection.
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
        """Decide, and answer once it is committed.

        Args:
            request: What the command takes, such as `CreateTopics`.
            reason: Stands in the log beside the records.
            request_id: Chosen by the caller, who may ask again with the same one when no answer
                came: the request is carried out once, and gets its first answer.
            trace_parent: Of the W3C trace that the request belongs to; stands in the log.

        Raises:
            RequestError: the whole request is refused.
            UnavailableError: try again; or no answer, and then the outcome is unknown.
        """
        ...
