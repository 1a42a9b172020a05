"""A refusal is not logged as an error if its caller has already disconnected."""

import asyncio
import gc

import pytest

from api.service.appends import shielded
from records.errors import RequestError


async def test_refusal_after_the_caller_has_gone_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asking = asyncio.create_task(shielded(future))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not future.done()
    future.set_exception(RequestError("DELEGATION_TOKEN_NOT_FOUND", "there is none"))
    await asyncio.sleep(0)
    del future, asking
    gc.collect()
    assert caplog.text == ""


async def test_refusal_reaches_the_caller() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.set_exception(RequestError("DELEGATION_TOKEN_NOT_FOUND", "there is none"))
    with pytest.raises(RequestError, match="there is none"):
        await shielded(future)
