"""Entities of client quotas: users, client ids and addresses, and which quota applies to a client.

An entity is a set of (type, name) pairs; the name None means every client without a quota of its
own.

Source: KIP-13, KIP-257 (users and client ids), KIP-612 (addresses).
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping

from records.errors import RequestError
from replay.image.quotas import QuotaEntity, canonical_entity

USER, CLIENT_ID, IP = "user", "client-id", "ip"
TYPES = (USER, CLIENT_ID, IP)


def checked_entity(pairs: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """Return an entity in canonical order.

    Raises:
        RequestError: INVALID_REQUEST: the entity is empty, has a type twice or an unknown type,
            combines an address with a user or client id, or has an empty name or an invalid
            address.
    """
    pairs = list(pairs)
    types = [kind for kind, _ in pairs]
    if not pairs:
        raise _invalid("the entity is empty; name a user, a client id, both, or an ip")
    for kind, name in pairs:
        if kind not in TYPES:
            raise _invalid(f"there is no entity type {kind!r}, only {', '.join(TYPES)}")
        if types.count(kind) > 1:
            raise _invalid(f"the entity type {kind} is named more than once")
        if name == "":
            raise _invalid(f"the name of a {kind} is empty")
    if IP in types and len(types) > 1:
        raise _invalid("an ip cannot be combined with a user or a client id")
    for kind, name in pairs:
        if kind == IP and name is not None and not _is_address(name):
            raise _invalid(f"{name!r} is not an IP address")
    return canonical_entity([(kind, name and one_form(kind, name)) for kind, name in pairs])


def one_form(kind: str, name: str) -> str:
    """Return a name in canonical form; only IPv6 addresses can be written in several ways."""
    return str(ipaddress.ip_address(name)) if kind == IP and _is_address(name) else name


def applying_entities(names: Mapping[str, str]) -> Iterator[QuotaEntity]:
    """Yield the entities whose quota may apply to a client, most specific first.

    Args:
        names: The client's names by type; types for which the client has no name are left out.
    """
    users = (names[USER], None) if USER in names else ()
    clients = (names[CLIENT_ID], None) if CLIENT_ID in names else ()
    for user in users:
        yield from (((CLIENT_ID, client), (USER, user)) for client in clients)
        yield ((USER, user),)
    yield from (((CLIENT_ID, client),) for client in clients)
    if IP in names:
        # Logs may hold addresses in another form.
        forms = dict.fromkeys((one_form(IP, names[IP]), names[IP], None))
        yield from (((IP, address),) for address in forms)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _invalid(reason: str) -> RequestError:
    return RequestError("INVALID_REQUEST", reason)
