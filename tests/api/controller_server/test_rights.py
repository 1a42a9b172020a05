"""A broker's authorizer sees the ACLs of the controller's image."""

from pathlib import Path

from api.broker.authorization import Authorization
from api.kafka.messages.replicas import UpdateMetadataRequest
from api.service.session import Session
from controller.authorization.authorizer import ALLOW_ALL, Operation
from controller.authorization.caller import Caller
from metadata_log.format.batch import NewBatch
from records.base import Record, Uuid
from records.configs import FeatureLevelRecord
from records.security import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from replay.image.metadata import MetadataImage
from tests.api.controller_server.test_broker_feed import FakeBroker
from tests.api.kafka.servers import Server, server

ANN = "User:ann"


def acl(number: int, principal: str = ANN) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=Uuid(bytes([number]) * 16),
        resource_type=2,
        resource_name="orders",
        pattern_type=3,
        principal=principal,
        host="*",
        operation=Operation.READ.value,
        permission_type=3,
    )


def removal(number: int) -> RemoveAccessControlEntryRecord:
    return RemoveAccessControlEntryRecord(id=Uuid(bytes([number]) * 16))


async def append(at: Server, *records: Record) -> None:
    await Session(at.service, Caller()).append(NewBatch(records=records))


def told(broker: FakeBroker) -> MetadataImage:
    """Return the image that a broker's authorizer uses after all updates of the controller."""
    authorization = Authorization(ALLOW_ALL)
    for request in broker.told:
        if isinstance(request, UpdateMetadataRequest):
            authorization.update(request)
    return authorization.access(Caller()).image


def of_rights(image: MetadataImage) -> tuple[object, object]:
    return {acl.id: acl for acl in image.acls()}, image.feature("metadata.version")


async def test_full_round_has_all_acls_and_later_ones_what_changed(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await append(at, *map(acl, range(1, 6)))
        broker = FakeBroker()
        async with broker.following(at, await at.register(1)):
            for changes in (
                [],
                [acl(6), removal(1)],
                [acl(2, "User:bob"), acl(7), removal(7)],
                [FeatureLevelRecord(name="metadata.version", feature_level=24)],
            ):
                if changes:
                    await append(at, *changes)
                await broker.until_offset(at.service.image.provenance.offset)
                assert of_rights(told(broker)) == of_rights(at.service.image)
        sizes = [len(r.rights) for r in broker.told if isinstance(r, UpdateMetadataRequest)]
        assert sizes[0] == 5 + len(at.service.image.features())  # ACLs, levels
        assert sorted(size for size in sizes[1:] if size) == [1, 1, 2]  # 7 came and went


async def test_broker_that_comes_back_is_told_what_it_missed(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await append(at, acl(1), acl(2))
        broker = FakeBroker()
        epoch = await at.register(1)
        async with broker.following(at, epoch):
            await broker.until_offset(at.service.image.provenance.offset)
        assert broker.first is not None
        await append(at, removal(1), acl(3))
        async with broker.following(at, epoch, broker.first.controller_epoch, broker.offset):
            await broker.until_offset(at.service.image.provenance.offset)
        assert of_rights(told(broker)) == of_rights(at.service.image)
