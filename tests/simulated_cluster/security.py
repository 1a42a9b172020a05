"""Random events of ACLs, SCRAM credentials and delegation tokens."""

import random

from records import security
from records.base import Record
from tests.simulated_cluster.state import NAMES, USERS, Cluster, new_id, some


def add_acl(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    acl_id = new_id(rng)
    cluster.acls.add(acl_id)
    return [
        security.AccessControlEntryRecord(
            id=acl_id,
            resource_type=rng.randrange(2, 8),
            resource_name=rng.choice(NAMES),
            pattern_type=rng.choice([3, 4]),
            principal=rng.choice(USERS),
            host="*",
            operation=rng.randrange(2, 13),
            permission_type=rng.choice([2, 3]),
        )
    ]


def remove_acl(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    if not cluster.acls:
        return []
    acl_id = rng.choice(sorted(cluster.acls))
    cluster.acls.remove(acl_id)
    return [security.RemoveAccessControlEntryRecord(id=acl_id)]


def set_credential(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    key = (rng.choice(USERS), rng.choice([1, 2]))
    cluster.credentials.add(key)
    return [
        security.UserScramCredentialRecord(
            name=key[0],
            mechanism=key[1],
            salt=rng.randbytes(4),
            stored_key=rng.randbytes(4),
            server_key=rng.randbytes(rng.randrange(4)),
            iterations=4_096,
        )
    ]


def remove_credential(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    if not cluster.credentials:
        return []
    name, mechanism = rng.choice(sorted(cluster.credentials))
    cluster.credentials.remove((name, mechanism))
    return [security.RemoveUserScramCredentialRecord(name=name, mechanism=mechanism)]


def set_token(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    token_id = f"token-{rng.randrange(4)}"
    cluster.tokens.add(token_id)
    return [
        security.DelegationTokenRecord(
            owner=rng.choice(USERS),
            requester=rng.choice(USERS),
            renewers=some(rng, USERS),
            issue_timestamp=offset,
            max_timestamp=offset + 2_000,
            expiration_timestamp=offset + 1_000,
            token_id=token_id,
        )
    ]


def remove_token(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    if not cluster.tokens:
        return []
    token_id = rng.choice(sorted(cluster.tokens))
    cluster.tokens.remove(token_id)
    return [security.RemoveDelegationTokenRecord(token_id=token_id)]
