"""Messages about client quotas: describe and change.

Source: KIP-546.
"""

from api.kafka.fields import Float64, Int8, Int16, Int32, Message, Request, Response


class ComponentData(Message, frozen=True, kw_only=True):
    """A filter that matches names of one entity type."""

    entity_type: str
    match_type: Int8
    match: str | None = None


class DescribeClientQuotasRequest(Request, frozen=True, kw_only=True):
    """Describe the quotas of the entities that match all filters."""

    components: tuple[ComponentData, ...] = ()
    strict: bool = False


class EntityData(Message, frozen=True, kw_only=True):
    """One part of an entity: a type and a name; null stands for the type's default entity."""

    entity_type: str
    entity_name: str | None = None


class ValueData(Message, frozen=True, kw_only=True):
    """One quota of an entity: the quota's name and its value."""

    key: str
    value: Float64


class QuotaEntryData(Message, frozen=True, kw_only=True):
    """The quotas of an entity."""

    entity: tuple[EntityData, ...]
    values: tuple[ValueData, ...]


class DescribeClientQuotasResponse(Response, frozen=True, kw_only=True):
    """The quotas of the matching entities, or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    entries: tuple[QuotaEntryData, ...] | None = None


class OpData(Message, frozen=True, kw_only=True):
    """A quota to set or remove."""

    key: str
    value: Float64 = 0.0
    remove: bool = False


class EntryAlteration(Message, frozen=True, kw_only=True):
    """Changes to the quotas of one entity."""

    entity: tuple[EntityData, ...]
    ops: tuple[OpData, ...]


class AlterClientQuotasRequest(Request, frozen=True, kw_only=True):
    """Set or remove quotas."""

    entries: tuple[EntryAlteration, ...]
    validate_only: bool = False


class EntryResult(Message, frozen=True, kw_only=True):
    """Result of changing one entity's quotas."""

    error_code: Int16 = 0
    error_message: str | None = None
    entity: tuple[EntityData, ...] = ()


class AlterClientQuotasResponse(Response, frozen=True, kw_only=True):
    """The results of AlterClientQuotas, one for each entity."""

    throttle_time_ms: Int32 = 0
    entries: tuple[EntryResult, ...] = ()
