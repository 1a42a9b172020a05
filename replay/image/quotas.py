"""Client quotas: limits of an entity such as a user, a client id, or both."""

from collections.abc import Iterable

import msgspec

from records.configs import ClientQuotaRecord
from replay.image.changes import MapDelta

QuotaEntity = tuple[tuple[str, str | None], ...]
"""Pairs of entity type and name (null: the default entity), a set in canonical order."""


class ClientQuota(msgspec.Struct, frozen=True, gc=False):
    """One limit of an entity."""

    entity: QuotaEntity
    key: str
    value: float


class QuotasDelta(MapDelta[tuple[QuotaEntity, str], ClientQuota]):
    """Changes to quotas, by entity and key."""

    def set(self, record: ClientQuotaRecord) -> None:
        """Set or remove a quota; removing an unset quota is allowed."""
        entity = quota_entity(record)
        if record.remove:
            self.take((entity, record.key))
        else:
            self.put((entity, record.key), ClientQuota(entity, record.key, record.value))


def quota_entity(record: ClientQuotaRecord) -> QuotaEntity:
    """Return the entity of a record, in canonical order."""
    return canonical_entity([(part.entity_type, part.entity_name) for part in record.entity])


def canonical_entity(pairs: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """Return an entity's (type, name) pairs in canonical order."""
    return tuple(sorted(set(pairs), key=_null_first))


def _null_first(pair: tuple[str, str | None]) -> tuple[str, bool, str]:
    entity_type, entity_name = pair
    return entity_type, entity_name is not None, entity_name or ""
