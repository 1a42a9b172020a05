"""SCRAM: the keys stored in place of a password.

    salted_password = PBKDF2(password, salt, iterations)
    stored_key      = H(HMAC(salted_password, "Client Key"))
    server_key      = HMAC(salted_password, "Server Key")

As in Kafka, a password is its UTF-8 bytes, without SASLprep.

Source: RFC 5802, RFC 7677; ScramFormatter and ScramMechanism of Kafka 4.0 (numbers, bounds).
"""

import enum
import hashlib
import hmac

import msgspec

ITERATIONS_MIN = 4_096
ITERATIONS_MAX = 16_384
SALT_SIZE_BYTES = 32


class ScramMechanism(enum.Enum):
    """Kafka's mechanisms, with their numbers."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def title(self) -> str:
        """The SASL name, such as `SCRAM-SHA-256`."""
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        """The name of the hash function in `hashlib`."""
        return self.name.removeprefix("SCRAM_").replace("_", "").lower()

    @property
    def key_size_bytes(self) -> int:
        """Size of a stored key and of a server key."""
        return hashlib.new(self.hash_name).digest_size


class ScramKeys(msgspec.Struct, frozen=True):
    """The keys of a credential, which verify a password but do not reveal it."""

    stored_key: bytes
    server_key: bytes


def salted_password(hash_name: str, password: str, salt: bytes, iterations: int) -> bytes:
    """Return the salted form of a password; takes a few milliseconds by design."""
    return hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)


def keys_of(hash_name: str, salted: bytes) -> ScramKeys:
    """Return the keys to store for a salted password."""
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    return ScramKeys(
        stored_key=hashlib.new(hash_name, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", hash_name),
    )
