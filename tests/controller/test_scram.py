"""SCRAM: the examples of the RFCs, and exchanges between a client and a server."""

import base64
import hashlib
import hmac

import pytest

from controller.decisions.security.scram import ScramMechanism, keys_of, salted_password
from controller.decisions.security.users import AlterUsers, alter_users
from tests.controller.cluster import Cluster, credential


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes([a ^ b for a, b in zip(one, other, strict=True)])


# RFC 5802 section 5 (SHA-1) and RFC 7677 section 3 (SHA-256): user "user", password "pencil".
_RFCS = {
    "sha1": (
        "QSXCR+Q6sek8bf92",
        "n=user,r=fyko+d2lbbFgONRv9qkxdawL,"
        "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096,"
        "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j",
        "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
        "rmF9pqV8S7suAoZWja4dJRkFsKQ=",
    ),
    "sha256": (
        "W22ZaJ0SNY7soEsUEjb6gQ==",
        "n=user,r=rOprNGfwEbeRWgbNEkqO,"
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
        "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
    ),
}


@pytest.mark.parametrize("hash_name", _RFCS)
def test_the_keys_prove_the_example_of_the_rfc(hash_name: str) -> None:
    salt, message, proof, signature = _RFCS[hash_name]
    salted = salted_password(hash_name, "pencil", base64.b64decode(salt), 4096)
    keys = keys_of(hash_name, salted)
    client_signature = hmac.digest(keys.stored_key, message.encode(), hash_name)
    client_key = _xor(base64.b64decode(proof), client_signature)
    assert hashlib.new(hash_name, client_key).digest() == keys.stored_key
    server_signature = hmac.digest(keys.server_key, message.encode(), hash_name)
    assert base64.b64encode(server_signature).decode() == signature


def _proof(password: str, hash_name: str, salt: bytes, iterations: int, message: bytes) -> bytes:
    """Return the client's proof for a password; written independently of `scram.py`."""
    salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
    client_key = hmac.new(salted, b"Client Key", hash_name).digest()
    stored_key = hashlib.new(hash_name, client_key).digest()
    return _xor(client_key, hmac.new(stored_key, message, hash_name).digest())


@pytest.mark.parametrize(("mechanism", "hash_name"), [(1, "sha256"), (2, "sha512")])
def test_a_client_with_the_password_is_let_in_and_no_other(mechanism: int, hash_name: str) -> None:
    assert ScramMechanism(mechanism).hash_name == hash_name
    cluster, message = Cluster(), b"n=zoe,r=abc,r=abcdef,s=c2FsdA==,i=5000,c=biws,r=abcdef"
    set_ = credential("zoe", "pässwörd", mechanism=mechanism, iterations=5000)
    cluster.do(alter_users, AlterUsers(upsertions=(set_,)))
    held = cluster.image.scram_credential("zoe", mechanism)
    assert held is not None

    def lets_in(password: str) -> bool:
        proof = _proof(password, hash_name, held.salt, held.iterations, message)
        signature = hmac.digest(held.stored_key, message, hash_name)
        return hashlib.new(hash_name, _xor(proof, signature)).digest() == held.stored_key

    assert lets_in("pässwörd")
    assert not lets_in("pässword")
    assert not lets_in("")
