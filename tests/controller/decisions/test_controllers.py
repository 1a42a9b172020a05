"""Registrations of controllers."""

from msgspec.structs import replace

from controller.decisions.brokers.controllers import RegisterController, register_controller
from controller.decisions.features.levels_in_use import (
    FeatureUpdate,
    UpdateFeatures,
    update_features,
)
from records.base import Uuid
from records.brokers import ControllerFeature, RegisterControllerRecord
from tests.controller.cluster import Cluster

_REQUEST = RegisterController(controller_id=3000, incarnation_id=Uuid(bytes([1] * 16)))


def test_the_last_announcement_of_a_controller_counts() -> None:
    cluster = Cluster()
    for octet in (1, 2):
        incarnation_id = Uuid(bytes([octet] * 16))
        cluster.do(register_controller, replace(_REQUEST, incarnation_id=incarnation_id))
    (known,) = cluster.image.controllers()
    assert (known.controller_id, known.incarnation_id) == (3000, Uuid(bytes([2] * 16)))


def test_before_level_15_controllers_do_not_register() -> None:
    error = Cluster({"metadata.version": 14}).refused(register_controller, _REQUEST)
    assert error.code == "UNSUPPORTED_VERSION"


def test_a_level_that_some_controller_does_not_support_is_refused() -> None:
    cluster = Cluster({"metadata.version": 20})
    cluster.do(register_controller, _REQUEST)
    (record,) = cluster.records
    old = ControllerFeature(
        name="metadata.version", min_supported_version=1, max_supported_version=24
    )
    cluster.write([replace(record, features=(old,))])
    request = UpdateFeatures(updates=(FeatureUpdate(name="metadata.version", level=25),))
    error = cluster.refused(update_features, request)
    assert error.code == "INVALID_UPDATE_VERSION"
    assert f"controller 3000 supports 1 to 24 (registered at offset {cluster.base_offset})" in str(
        error
    )


def test_the_supported_levels_are_registered_in_the_order_of_their_names() -> None:
    cluster = Cluster()
    cluster.do(register_controller, _REQUEST)
    (record,) = cluster.records
    assert isinstance(record, RegisterControllerRecord)
    names = [feature.name for feature in record.features]
    assert len(names) == 4
    assert names == sorted(names)
