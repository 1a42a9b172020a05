"""A broker with SASL accepts the users that are in the log, after each change."""

from api.broker.authorization import Authorization
from api.controller_server.rights_records import all_rights, changed_rights
from api.kafka.messages.replicas import FULL, INCREMENTAL, UpdateMetadataRequest
from api.service.history import Change
from controller.authorization.authorizer import ALLOW_ALL
from records.envelope import Envelope
from records.security import (
    DelegationTokenRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance

ANN = UserScramCredentialRecord(
    name="ann", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4_096
)
TOKEN = DelegationTokenRecord(
    token_id="t",
    owner="User:ann",
    requester="User:ann",
    renewers=(),
    issue_timestamp=1,
    max_timestamp=9,
    expiration_timestamp=5,
)


def replayed(image: MetadataImage, offset: int, *records: object) -> MetadataImage:
    delta = MetadataDelta(image)
    for record in records:
        row = Envelope(
            offset=offset,
            leader_epoch=0,
            timestamp=0,
            batch_offset=offset,
            record_version=0,
            payload=record,  # type: ignore[arg-type]
        )
        delta.replay(row)
    return delta.apply(Provenance(offset=offset))


def update(rights: tuple[bytes, ...], kind: int) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(
        controller_id=1, controller_epoch=1, broker_epoch=1, type=kind, rights=rights
    )


def test_a_broker_has_the_users_of_the_log_and_loses_those_that_are_gone() -> None:
    before = replayed(MetadataImage.EMPTY, 1, ANN, TOKEN)
    after = replayed(
        before,
        2,
        RemoveUserScramCredentialRecord(name="ann", mechanism=1),
        RemoveDelegationTokenRecord(token_id="t"),
    )
    broker = Authorization(ALLOW_ALL)
    broker.update(update(all_rights(before, with_users=True), FULL))
    assert list(broker.image.scram()) == list(before.scram())
    assert list(broker.image.delegation_tokens()) == list(before.delegation_tokens())
    change = Change(before, after, frozenset())
    broker.update(update(changed_rights(change, with_users=True), INCREMENTAL))
    assert not [*broker.image.scram(), *broker.image.delegation_tokens()]


def test_a_broker_that_does_not_ask_gets_no_users() -> None:
    image = replayed(MetadataImage.EMPTY, 1, ANN, TOKEN)
    broker = Authorization(ALLOW_ALL)
    broker.update(update(all_rights(image), FULL))
    assert not [*broker.image.scram(), *broker.image.delegation_tokens()]
    assert changed_rights(Change(MetadataImage.EMPTY, image, frozenset())) == ()
