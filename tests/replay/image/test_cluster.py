"""Effects of broker and controller records."""

from typing import Any

import pytest

from records.brokers import (
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    FenceBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from records.errors import ContradictionError
from replay.image.cluster import Broker, Controller
from replay.image.metadata import MetadataImage
from tests.replay.builders import batch, broker, endpoint, image_after, image_of, uid


def _broker(image: MetadataImage) -> Broker:
    found = image.broker(1)
    assert found is not None
    return found


def _changed(**fields: Any) -> Broker:
    registration = broker(1, log_dirs=(uid("x"),))
    record = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=10, **fields)
    return _broker(image_of(registration, record))


def test_registered_broker_is_as_written_with_its_record_version() -> None:
    record = broker(
        1,
        is_migrating_zk_broker=True,
        features=(BrokerFeature(name="f", min_supported_version=1, max_supported_version=2),),
        rack="r",
        fenced=False,
        in_controlled_shutdown=True,
        log_dirs=(uid("x"),),
    )
    image = image_after([batch(0, record, record_version=3)])
    assert list(image.brokers()) == [
        Broker(
            broker_id=1,
            incarnation_id=uid("broker 1"),
            broker_epoch=10,
            end_points=(endpoint("PLAINTEXT"),),
            features=record.features,
            rack="r",
            fenced=False,
            in_controlled_shutdown=True,
            is_migrating_zk_broker=True,
            log_dirs=(uid("x"),),
            record_version=3,
        )
    ]
    assert image.broker(2) is None


def test_registration_replaces_an_earlier_one() -> None:
    image = image_of(broker(1, rack="old", fenced=False), broker(1, broker_epoch=20))
    assert (_broker(image).broker_epoch, _broker(image).rack, _broker(image).fenced) == (
        20,
        None,
        True,
    )


def test_unregistered_broker_is_gone() -> None:
    image = image_of(broker(1), UnregisterBrokerRecord(broker_id=1, broker_epoch=10))
    assert list(image.brokers()) == []


def test_old_records_fence_and_unfence() -> None:
    unfenced = broker(1), UnfenceBrokerRecord(id=1, epoch=10)
    assert _broker(image_of(*unfenced)).fenced is False
    assert _broker(image_of(*unfenced, FenceBrokerRecord(id=1, epoch=10))).fenced is True


def test_change_fences_and_unfences() -> None:
    assert _changed(fenced=-1).fenced is False
    assert _changed(fenced=1).fenced is True
    assert _changed(fenced=0).fenced is True


def test_unfencing_leaves_the_controlled_shutdown_as_it_is() -> None:
    shutting_down = broker(1, in_controlled_shutdown=True)
    change = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=10, fenced=-1)
    assert _broker(image_of(shutting_down, change)).in_controlled_shutdown is True


def test_change_starts_a_controlled_shutdown() -> None:
    assert _changed(in_controlled_shutdown=1).in_controlled_shutdown is True
    assert _changed(in_controlled_shutdown=0).in_controlled_shutdown is False


def test_change_replaces_log_dirs_unless_they_are_empty() -> None:
    assert _changed(log_dirs=(uid("y"), uid("z"))).log_dirs == (uid("y"), uid("z"))
    assert _changed(log_dirs=()).log_dirs == (uid("x"),)


@pytest.mark.parametrize(
    "record",
    [
        UnregisterBrokerRecord(broker_id=1, broker_epoch=11),
        FenceBrokerRecord(id=1, epoch=11),
        UnfenceBrokerRecord(id=1, epoch=9),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=11, fenced=1),
    ],
    ids=lambda record: type(record).__name__,
)
def test_record_of_another_broker_epoch_or_of_no_broker_is_a_contradiction(
    record: UnregisterBrokerRecord,
) -> None:
    with pytest.raises(ContradictionError, match=r"offset 1: .* broker 1 has epoch 10, not"):
        image_of(broker(1), record)
    with pytest.raises(ContradictionError, match=r"offset 0: .* broker 1 is not registered"):
        image_of(record)


def test_last_registration_of_a_controller_counts() -> None:
    first = RegisterControllerRecord(
        controller_id=3000,
        incarnation_id=uid("one"),
        zk_migration_ready=True,
        end_points=(),
        features=(),
    )
    last = RegisterControllerRecord(
        controller_id=3000,
        incarnation_id=uid("two"),
        zk_migration_ready=False,
        end_points=(ControllerEndpoint(name="C", host="h", port=1, security_protocol=0),),
        features=(ControllerFeature(name="f", min_supported_version=1, max_supported_version=2),),
    )
    image = image_of(first, last)
    expected = Controller(3000, uid("two"), False, last.end_points, last.features, version=1)
    assert list(image.controllers()) == [expected]
    assert image.controller(3000) == expected
    assert image.controller(1) is None
