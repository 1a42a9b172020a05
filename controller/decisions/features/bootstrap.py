"""The first records of a new log: its feature levels.

Source: KIP-868; docs/kafka_rules.md, section 1.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from controller.decisions.config_definitions.topics import MIN_ISR
from controller.decisions.context.context import Context
from controller.decisions.features.levels_in_use import bootstrap_records
from controller.results.result import ControllerResult
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance


def bootstrap(context: Context, levels: Mapping[str, int]) -> ControllerResult[None]:
    """Return the records of a new log's feature levels; none if the log is not empty."""
    if replace(context.image, provenance=Provenance()) != MetadataImage.EMPTY:
        return ControllerResult(response=None)
    records = bootstrap_records(levels, context.settings.static_number(MIN_ISR))
    return ControllerResult(response=None, records=records)
