"""Registration of controllers.

Source: KIP-919.
"""

import msgspec

from controller.decisions.context.context import Context
from controller.decisions.levels import CONTROLLER_REGISTRATION_LEVEL, SUPPORTED_LEVELS
from controller.results.result import ControllerResult
from records.base import Uuid
from records.brokers import ControllerEndpoint, ControllerFeature, RegisterControllerRecord
from records.errors import RequestError

OWN_FEATURES = tuple(
    [
        ControllerFeature(name=name, min_supported_version=low, max_supported_version=high)
        for name, (low, high) in sorted(SUPPORTED_LEVELS.items())
    ]
)
"""The levels that a controller of this release supports."""


class RegisterController(msgspec.Struct, frozen=True, kw_only=True):
    """A request to register a controller process; `incarnation_id` is new with every start.

    `features` are the levels that the process supports; those of this release by default.
    """

    controller_id: int
    incarnation_id: Uuid
    end_points: tuple[ControllerEndpoint, ...] = ()
    features: tuple[ControllerFeature, ...] = OWN_FEATURES
    zk_migration_ready: bool = False


def register_controller(context: Context, request: RegisterController) -> ControllerResult[None]:
    """Register a controller with the feature levels that it supports.

    This service's controller does not register itself. The decision is there for simulated clusters
    and for the comparison with Kafka's decisions.

    Raises:
        RequestError: UNSUPPORTED_VERSION, the metadata.version is too old.
    """
    if context.metadata_version < CONTROLLER_REGISTRATION_LEVEL:
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"controllers can only register from metadata.version {CONTROLLER_REGISTRATION_LEVEL} "
            "on",
        )
    record = RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=request.zk_migration_ready,
        end_points=request.end_points,
        features=tuple(sorted(request.features, key=lambda feature: feature.name)),
    )
    return ControllerResult(response=None, records=(record,))
