"""HMACs of created tokens in repeated answers: computed again from the token's id.

No record contains an HMAC. Its hash is logged, to recognize that the secret key was changed.
"""

import hashlib
from typing import Any

import msgspec
from msgspec.structs import replace

from controller.decisions.context.context import Settings
from controller.decisions.security.tokens import SECRET_KEY, TokenCreated, token_hmac
from records.envelope import Asked
from records.errors import RequestError

_HASH = "hash of the hmac"


def hash_of_hmac(response: Any) -> dict[str, bytes]:
    """Return the hash to log, by its name, if a response has an HMAC."""
    if not isinstance(response, TokenCreated) or response.hmac is None:
        return {}
    # It reveals nothing: an HMAC has 512 bits, made with a key.
    return {_HASH: hashlib.sha256(response.hmac).digest()}


def with_hmac(created: TokenCreated, asked: Asked, settings: Settings) -> TokenCreated:
    """Return the logged response with its HMAC, computed with the secret key in `settings`.

    Raises:
        RequestError: DELEGATION_TOKEN_AUTH_DISABLED, there is no secret key, or the token was made
            with another. Earlier releases logged no hash, so another key is not noticed for theirs.
    """
    secret_key = settings.static_configs.get(SECRET_KEY)
    if not secret_key:
        raise _disabled(f"the HMAC is computed with the static config {SECRET_KEY}, give it")
    answer = replace(created, hmac=token_hmac(secret_key, created.token_id))
    seen = {} if asked.observed is None else msgspec.msgpack.decode(asked.observed)
    if _HASH in seen and hash_of_hmac(answer) != {_HASH: seen[_HASH]}:
        raise _disabled(f"{SECRET_KEY} is not the one with which the token was made")
    return answer


def _disabled(why: str) -> RequestError:
    return RequestError("DELEGATION_TOKEN_AUTH_DISABLED", why)
