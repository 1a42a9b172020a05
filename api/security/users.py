"""The users that SASL authenticates: SCRAM credentials and delegation tokens of an image.

For a user that does not exist, a decoy credential is used, so that a client cannot find out which
users exist. A decoy has the same salt each time, and on every node of the cluster.
"""

import base64
import functools
import hashlib
import hmac
from collections.abc import Callable

import msgspec

from api.security.principals import USER
from api.security.scram import Stored
from controller.decisions.scram import (
    ITERATIONS_MIN,
    SALT_SIZE_BYTES,
    ScramMechanism,
    keys_of,
    salted_password,
)
from controller.decisions.tokens import token_hmac
from replay.image.metadata import MetadataImage
from replay.image.scram import ScramCredential


class Users(msgspec.Struct, frozen=True, kw_only=True):
    """Looks up credentials of users and tokens.

    Attributes:
        image: Returns the current image.
        now_ms: Returns the time, for the expiry of tokens.
        token_key: `delegation.token.secret.key`; None or empty: token logins are refused.
        decoy_key: Key from which decoys are derived; the same on every node, unknown to clients.
    """

    image: Callable[[], MetadataImage]
    now_ms: Callable[[], int]
    decoy_key: bytes
    token_key: str | None = None

    def user(self, name: str, mechanism: ScramMechanism) -> Stored:
        """Return a user's stored credential, or a decoy."""
        found = self.image().scram_credential(name, mechanism.value)
        if found is None:
            return self._decoy(name, mechanism)
        return Stored(credential=found, principal=USER + name)

    def user_of_any_mechanism(self, name: str) -> tuple[ScramMechanism, Stored]:
        """Return a SCRAM mechanism and a user's credential for it, to check a plain password.

        For a user without any credential, the credential is a decoy.
        """
        for mechanism in reversed(ScramMechanism):
            if self.image().scram_credential(name, mechanism.value) is not None:
                return mechanism, self.user(name, mechanism)
        return ScramMechanism.SCRAM_SHA_512, self._decoy(name, ScramMechanism.SCRAM_SHA_512)

    def token(self, token_id: str, mechanism: ScramMechanism) -> Stored:
        """Return the credential of a delegation token, with the token's owner as its principal.

        If the token is unknown or expired, returns a decoy.
        """
        token = self.image().delegation_token(token_id)
        now_ms = self.now_ms()
        if (
            token is None
            or not self.token_key
            or min(token.max_timestamp, token.expiration_timestamp) < now_ms
        ):
            return self._decoy(token_id, mechanism)
        salt = self._derived("token", token_id, mechanism)[:SALT_SIZE_BYTES]
        credential = _token_credential(self.token_key, token_id, mechanism, salt)
        ends = min(token.max_timestamp, token.expiration_timestamp)
        return Stored(credential=credential, principal=token.owner, expires_ms=ends)

    def _decoy(self, name: str, mechanism: ScramMechanism) -> Stored:
        size = mechanism.key_size_bytes
        credential = ScramCredential(
            name=name,
            mechanism=mechanism.value,
            salt=self._derived("salt", name, mechanism)[:SALT_SIZE_BYTES],
            stored_key=self._derived("stored", name, mechanism)[:size],
            server_key=self._derived("server", name, mechanism)[:size],
            iterations=ITERATIONS_MIN,
        )
        return Stored(credential=credential, principal=None)

    def _derived(self, use: str, name: str, mechanism: ScramMechanism) -> bytes:
        message = f"{use} {mechanism.value} {name}".encode(errors="surrogatepass")
        return hmac.digest(self.decoy_key, message, "sha512")


def decoy_key(cluster_id: str, secret: str | None) -> bytes:
    """Return the key from which decoys are derived.

    It depends on `secret` and on the cluster id. Without a secret, a client that has learned the
    cluster id, as each does by logging in, can recognize decoys.

    Args:
        secret: A secret that only the nodes of the cluster share; None if there is none.
    """
    return hashlib.sha512(f"decoys of {cluster_id} {secret or ''}".encode()).digest()


# As many as are likely to connect often; a credential costs a millisecond of PBKDF2.
@functools.lru_cache(maxsize=1_024)
def _token_credential(
    secret_key: str, token_id: str, mechanism: ScramMechanism, salt: bytes
) -> ScramCredential:
    """Return the SCRAM credential of a delegation token.

    Its password is the token's HMAC in base64, the form that clients use.
    """
    password = base64.b64encode(token_hmac(secret_key, token_id)).decode()
    name = mechanism.hash_name
    keys = keys_of(name, salted_password(name, password, salt, ITERATIONS_MIN))
    return ScramCredential(
        name=token_id,
        mechanism=mechanism.value,
        salt=salt,
        stored_key=keys.stored_key,
        server_key=keys.server_key,
        iterations=ITERATIONS_MIN,
    )
