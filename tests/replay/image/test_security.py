"""Effects of ACL, SCRAM and delegation token records."""

import msgspec
import pytest

from records.errors import ContradictionError
from records.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from replay.image.acls import Acl
from replay.image.scram import ScramCredential
from replay.image.tokens import DelegationToken
from tests.replay.builders import image_of, uid

ACL = AccessControlEntryRecord(
    id=uid("acl"),
    resource_type=2,
    resource_name="t",
    pattern_type=3,
    principal="User:u",
    host="*",
    operation=3,
    permission_type=3,
)
SCRAM = UserScramCredentialRecord(
    name="u", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096
)
TOKEN = DelegationTokenRecord(
    owner="User:o",
    requester="User:r",
    renewers=("User:a",),
    issue_timestamp=1,
    max_timestamp=3,
    expiration_timestamp=2,
    token_id="t",
)


def test_acl_is_put_under_its_id() -> None:
    other = msgspec.structs.replace(ACL, permission_type=2)
    image = image_of(ACL, other)
    expected = Acl(uid("acl"), 2, "t", 3, "User:u", "*", 3, 2)
    assert list(image.acls()) == [expected]
    assert (image.acl(uid("acl")), image.acl(uid("none"))) == (expected, None)


def test_equal_acls_of_two_ids_are_two() -> None:
    assert len(list(image_of(ACL, msgspec.structs.replace(ACL, id=uid("b"))).acls())) == 2


def test_removed_acl_is_gone_and_an_unknown_one_is_a_contradiction() -> None:
    removal = RemoveAccessControlEntryRecord(id=uid("acl"))
    assert list(image_of(ACL, removal).acls()) == []
    with pytest.raises(ContradictionError, match="offset 0: RemoveAccessControlEntryRecord: there"):
        image_of(removal)


def test_credential_is_kept_by_user_and_mechanism() -> None:
    other = msgspec.structs.replace(SCRAM, mechanism=2)
    newer = msgspec.structs.replace(SCRAM, iterations=8192)
    image = image_of(SCRAM, other, newer)
    assert sorted(image.scram(), key=lambda credential: credential.mechanism) == [
        ScramCredential("u", 1, b"s", b"k", b"v", 8192),
        ScramCredential("u", 2, b"s", b"k", b"v", 4096),
    ]


def test_removed_credential_is_gone_and_an_unknown_one_is_a_contradiction() -> None:
    removal = RemoveUserScramCredentialRecord(name="u", mechanism=1)
    assert list(image_of(SCRAM, removal).scram()) == []
    with pytest.raises(ContradictionError, match=r"offset 1: .* no credential of mechanism 2"):
        image_of(SCRAM, RemoveUserScramCredentialRecord(name="u", mechanism=2))


def test_token_is_new_or_replaced() -> None:
    renewed = msgspec.structs.replace(TOKEN, expiration_timestamp=3)
    assert list(image_of(TOKEN, renewed).delegation_tokens()) == [
        DelegationToken("t", "User:o", "User:r", ("User:a",), 1, 3, 3)
    ]


def test_removed_token_is_gone_and_an_unknown_one_is_a_contradiction() -> None:
    removal = RemoveDelegationTokenRecord(token_id="t")
    assert list(image_of(TOKEN, removal).delegation_tokens()) == []
    # The id is a secret.
    with pytest.raises(ContradictionError, match=r"offset 0: .* no delegation token of that id$"):
        image_of(removal)
