"""Verbs of scenarios for users, their quotas and tokens: one function per verb."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from controller.decisions.quotas.client_quotas import (
    AlterQuotas,
    EntityChange,
    QuotaChange,
    alter_quotas,
)
from controller.decisions.security.tokens import (
    SECRET_KEY,
    CreateToken,
    ExpireToken,
    RenewToken,
    create_token,
    expire_token,
    remove_expired_tokens,
    renew_token,
    token_hmac,
)
from controller.decisions.security.users import (
    AlterUsers,
    Expected,
    ScramDeletion,
    ScramUpsertion,
    alter_users,
)
from controller.results.quota_charges import MUTATION_RATE
from records.configs import ClientQuotaRecord, EntityData
from tests.controller.cluster import Cluster, credential


def _quota(cluster: Cluster, *words: str, **changes: str) -> Any:
    """`quota user/ann client-id/x KEY=1.5 OTHER=none`; `user/` is the default user.

    The word `and` begins the next entity, with the same changes.
    """
    entities: list[list[tuple[str, str | None]]] = [[]]
    for word in words:
        kind, _, name = word.partition("/")
        if word == "and":
            entities.append([])
        elif kind != "nothing":
            entities[-1].append((kind, "" if name == "empty" else name or None))
    quotas = tuple(
        [QuotaChange(key, None if v == "none" else float(v)) for key, v in changes.items()]
    )
    request = AlterQuotas(
        entities=tuple([EntityChange(entity=tuple(e), changes=quotas) for e in entities])
    )
    return cluster.do(alter_quotas, request)


def _allow(cluster: Cluster, rate: str, **entity: str) -> None:
    """Write a quota of partition mutations a second; `user=` or `client=` without a name: the
    default.
    """
    kinds = {"user": "user", "client": "client-id"}
    record = ClientQuotaRecord(
        entity=tuple(
            [EntityData(entity_type=kinds[k], entity_name=v or None) for k, v in entity.items()]
        ),
        key=MUTATION_RATE,
        value=float(rate),
        remove=False,
    )
    cluster.write([record])


def _create_token(cluster: Cluster, *renewers: str, owner: str = "", lifetime: str = "-1") -> None:
    request = CreateToken(owner=owner or None, renewers=renewers, max_lifetime_ms=int(lifetime))
    created = cluster.do(create_token, request)
    assert created.hmac == token_hmac(cluster.settings.static_configs[SECRET_KEY], created.token_id)


def _renew_token(cluster: Cluster, number: str, period: str = "-1", *, by: str = "hmac") -> None:
    cluster.do(renew_token, RenewToken(period_ms=int(period), **_token(cluster, number, by)))


def _expire_token(cluster: Cluster, number: str, period: str = "-1", *, by: str = "hmac") -> None:
    cluster.do(expire_token, ExpireToken(period_ms=int(period), **_token(cluster, number, by)))


def _token(cluster: Cluster, number: str, by: str) -> dict[str, Any]:
    """Return the fields that identify a token, by its number; ids are given in order."""
    ids = sorted(token.token_id for token in cluster.image.delegation_tokens())
    token_id = ids[int(number) - 1] if int(number) <= len(ids) else "gone"
    if by == "id":
        return {"token_id": token_id}
    return {"hmac": token_hmac(cluster.settings.static_configs.get(SECRET_KEY, ""), token_id)}


def _remove_expired(cluster: Cluster) -> None:
    cluster.decide(remove_expired_tokens)


def _set_user(
    cluster: Cluster, *users: str, mechanism: str = "1", iterations: str = "4096", **fields: str
) -> Any:
    """`expected=absent` or `present`; `key=short`: keys of a wrong size; `none`: an empty name."""
    more: dict[str, Any] = {"stored_key": b"short"} if fields.pop("key", "") == "short" else {}
    if "salt" in fields:
        more["salt"] = b""
    if "expected" in fields:
        more["expected"] = Expected(fields["expected"])
    if mechanism not in "12":
        more |= {"salt": b"s", "stored_key": b"k", "server_key": b"k"}
    upsertions = tuple(
        [_credential("" if user == "none" else user, mechanism, iterations, more) for user in users]
    )
    return cluster.do(alter_users, AlterUsers(upsertions=upsertions))


def _credential(user: str, mechanism: str, iterations: str, more: dict[str, Any]) -> ScramUpsertion:
    known = credential(user, mechanism=int(mechanism) if mechanism in "12" else 1)
    return replace(known, mechanism=int(mechanism), iterations=int(iterations), **more)


def _delete_user(cluster: Cluster, *users: str, mechanism: str = "", twice: str = "") -> Any:
    """`twice`: a user that the same request also sets."""
    number = int(mechanism) if mechanism else None
    request = AlterUsers(
        deletions=tuple(
            [ScramDeletion(user="" if u == "none" else u, mechanism=number) for u in users]
        ),
        upsertions=(credential(twice),) if twice else (),
    )
    return cluster.do(alter_users, request)


VERBS: dict[str, Callable[..., Any]] = {
    "allow": _allow,
    "quota": _quota,
    "create-token": _create_token,
    "renew-token": _renew_token,
    "expire-token": _expire_token,
    "remove-expired-tokens": _remove_expired,
    "set-user": _set_user,
    "delete-user": _delete_user,
}
