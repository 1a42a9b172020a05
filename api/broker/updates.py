"""The stream on which the controller sends requests, such as updates, to a broker."""

from typing import NoReturn

from api.clients.client import ServerAddress
from api.kafka import apis, frames
from api.kafka.conversation import answer
from api.kafka.dispatch import DispatchTable
from api.kafka.errors import check
from api.kafka.login import open_authenticated
from api.kafka.messages.brokers import FollowLogRequest, FollowLogResponse
from api.kafka.streams import close_writer, read_frame
from api.security.client import ConnectionSecurity
from records.errors import UnavailableError


async def answer_updates(
    at: ServerAddress,
    client_id: str,
    security: ConnectionSecurity,
    request: FollowLogRequest,
    dispatch: DispatchTable,
) -> NoReturn:
    """Open the stream and answer the controller's requests until it ends.

    Args:
        dispatch: Handles the controller's requests.

    Raises:
        UnavailableError: the controller is away, or the stream has ended.
        RequestError: the controller refuses the stream, such as NOT_CONTROLLER.
    """
    reader, writer, _ = await open_authenticated(at.host, at.port, client_id, security)
    try:
        writer.write(frames.encode_request(apis.FOLLOW_LOG, 0, 0, request))
        raw = await read_frame(reader)
        if raw is None:
            raise UnavailableError("the controller ended the stream")
        response = frames.decode_response(raw, apis.FOLLOW_LOG, 0)
        assert isinstance(response, FollowLogResponse)
        check(response.error_code, None)
        await answer(reader, writer, dispatch)
    finally:
        await close_writer(writer)
    raise UnavailableError("the controller ended the stream")
