"""Tests of a bucket before it holds a shared log: conditions of a PUT, and lifecycle rules.

Two clients write the same object at the same time, with the same condition. Exactly one of them
must succeed, and its bytes must be there: so also a store is found that looks first and writes
later.
"""

import asyncio
import copy
import logging
import secrets
from typing import TYPE_CHECKING

from obstore.exceptions import AlreadyExistsError, PreconditionError

from metadata_log.shared.bucket_objects import Objects
from metadata_log.stores.lifecycle import UnreadableRulesError, lifecycle_rules
from records.errors import RequestError, UnavailableError

if TYPE_CHECKING:
    from obstore import PutMode, PutResult
    from obstore.store import S3Store

_LOG = logging.getLogger(__name__)

_ATTEMPTS = 5
"""Races, if both writers are refused: a store may ask both to try again (409)."""


async def check_conditions(store: "S3Store", objects: Objects) -> None:
    """Test with a new object that the store honours the conditions of a PUT.

    Raises:
        RequestError: INVALID_REQUEST, the store writes an object although a condition is not met.
        UnavailableError: the store does not answer.
    """
    name = f"probe-{secrets.token_hex(8)}"
    with objects.named_errors(name):
        try:
            made = await _raced(store, objects, name, "create", "If-None-Match")
            assert made["e_tag"], "a store with conditions has versions"
            await _raced(store, objects, name, {"e_tag": made["e_tag"]}, "If-Match")
        finally:
            await store.delete_async(name)


async def check_lifecycle(store: "S3Store", objects: Objects) -> None:
    """Check that no lifecycle rule of the bucket takes objects of the prefix away.

    If the rules cannot be read, a warning says so.

    Raises:
        RequestError: INVALID_REQUEST, there is such a rule.
    """
    try:
        rules = await asyncio.to_thread(lifecycle_rules, store)
    except UnreadableRulesError as error:
        _LOG.warning(
            "%s: the bucket's lifecycle rules cannot be read (%s); make sure that none deletes or "
            "moves objects of this prefix",
            objects.where,
            error,
        )
        return
    prefix = f"{store.prefix}/" if store.prefix else ""
    for rule in rules:
        if rule.concerns(prefix):
            raise RequestError(
                "INVALID_REQUEST",
                f"{objects.where} cannot hold a shared log: the lifecycle rule {rule.name!r} of "
                f"the bucket deletes or moves objects under {rule.prefix!r}, and every group must "
                "stay until it is trimmed; limit the rule to other prefixes",
            )


async def _raced(
    store: "S3Store", objects: Objects, name: str, mode: "PutMode", header: str
) -> "PutResult":
    """Let two clients write an object with the same condition; return the result of the one."""
    clients = (store, copy.copy(store))
    for _ in range(_ATTEMPTS):
        contents = [secrets.token_bytes(8) for _ in clients]
        results = await asyncio.gather(
            *(
                client.put_async(name, content, mode=mode, use_multipart=False)
                for client, content in zip(clients, contents, strict=True)
            ),
            return_exceptions=True,
        )
        errors = [each for each in results if isinstance(each, BaseException)]
        won = [
            (result, content)
            for result, content in zip(results, contents, strict=True)
            if not isinstance(result, BaseException)
        ]
        if won:
            if len(won) > 1 or await objects.get(name) != won[0][1]:
                raise _ignored(objects.where, header)
            return won[0][0]
        for error in errors:
            if not isinstance(error, AlreadyExistsError | PreconditionError):
                raise error
        if await objects.get(name) in contents:
            break
    raise UnavailableError(
        f"{objects.where}{name}: the store refuses each of two writers that use {header}; try again"
    )


def _ignored(where: str, header: str) -> RequestError:
    return RequestError(
        "INVALID_REQUEST",
        f"{where} cannot hold a shared log: the store ignores {header} of a PUT, so two nodes "
        "would overwrite each other; use another store",
    )
