"""The users that SASL authenticates: SCRAM credentials and delegation tokens of an image.

For a user that does not exist, a decoy credential is used, so that a client cannot find out which
users exist. A decoy has the same salt each time, and on every node of the cluster. Its mechanism,
iterations and salt length are those of some user, who is chosen by the requested name. So each
combination that a user has is also that of many names that do not exist.
"""

import base64
import functools
import hashlib
import hmac
from collections.abc import Callable

import msgspec
from immutables import Map

from api.security.principals import USER
from api.security.scram import Stored
from controller.decisions.security.scram import (
    ITERATIONS_MIN,
    SALT_SIZE_BYTES,
    ScramMechanism,
    keys_of,
    salted_password,
)
from controller.decisions.security.tokens import token_hmac
from replay.image.metadata import MetadataImage
from replay.image.scram import ScramCredential


class _Form(msgspec.Struct, frozen=True, order=True):
    """The parts of a credential that a client sees, except the salt's bytes."""

    mechanism: int
    iterations: int
    salt_size_bytes: int


class _Forms:
    """The forms of all credentials, computed again when the credentials have changed."""

    def __init__(self) -> None:
        self._credentials: Map[tuple[str, int], ScramCredential] = Map()
        self._found: frozenset[_Form] = frozenset()

    def of(self, credentials: Map[tuple[str, int], ScramCredential]) -> frozenset[_Form]:
        if credentials is not self._credentials:
            self._credentials = credentials
            self._found = frozenset(
                [_Form(c.mechanism, c.iterations, len(c.salt)) for c in credentials.values()]
            )
        return self._found


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
    _forms: _Forms = msgspec.field(default_factory=_Forms)

    def user(self, name: str, mechanism: ScramMechanism) -> Stored:
        """Return a user's stored credential, or a decoy."""
        found = self.image().scram_credential(name, mechanism.value)
        if found is None:
            return self._decoy(self._form(name, mechanism), name)
        return Stored(credential=found, principal=USER + name)

    def user_of_any_mechanism(self, name: str) -> tuple[ScramMechanism, Stored]:
        """Return a SCRAM mechanism and a user's credential for it, to check a plain password.

        For a user without any credential, the credential is a decoy.
        """
        for mechanism in reversed(ScramMechanism):
            if self.image().scram_credential(name, mechanism.value) is not None:
                return mechanism, self.user(name, mechanism)
        form = self._form(name)
        return ScramMechanism(form.mechanism), self._decoy(form, name)

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
            form = _Form(mechanism.value, ITERATIONS_MIN, SALT_SIZE_BYTES)  # that of each token
            return self._decoy(form, token_id)
        salt = self._derived("token", token_id, mechanism.value)[:SALT_SIZE_BYTES]
        credential = _token_credential(self.token_key, token_id, mechanism, salt)
        ends = min(token.max_timestamp, token.expiration_timestamp)
        return Stored(credential=credential, principal=token.owner, expires_ms=ends)

    def _form(self, name: str, mechanism: ScramMechanism | None = None) -> _Form:
        """Return the form of a name's decoy: one that some user has, always the same for the name.

        Rendezvous hashing: if another form comes into use or out of use, few decoys change.

        Args:
            mechanism: The mechanism of the form; None: any.
        """
        used = self._forms.of(self.image().scram_credentials)
        fitting = [each for each in used if mechanism in (None, ScramMechanism(each.mechanism))]
        if not fitting:
            default = mechanism or ScramMechanism.SCRAM_SHA_512
            return _Form(default.value, ITERATIONS_MIN, SALT_SIZE_BYTES)
        return max(fitting, key=lambda form: self._derived(repr(form), name, form.mechanism))

    def _decoy(self, form: _Form, name: str) -> Stored:
        mechanism = ScramMechanism(form.mechanism)
        size = mechanism.key_size_bytes
        credential = ScramCredential(
            name=name,
            mechanism=mechanism.value,
            salt=self._salt(name, form),
            stored_key=self._derived("stored", name, form.mechanism)[:size],
            server_key=self._derived("server", name, form.mechanism)[:size],
            iterations=form.iterations,
        )
        return Stored(credential=credential, principal=None)

    def _salt(self, name: str, form: _Form) -> bytes:
        salt, number = b"", 0
        while len(salt) < form.salt_size_bytes:
            salt += self._derived(f"salt{number or ''}", name, form.mechanism)
            number += 1
        return salt[: form.salt_size_bytes]

    def _derived(self, use: str, name: str, mechanism: int) -> bytes:
        message = f"{use} {mechanism} {name}".encode(errors="surrogatepass")
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
