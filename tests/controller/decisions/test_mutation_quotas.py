"""The mutation quota that applies to a client, and how its token bucket fills."""

import pytest
from msgspec.structs import replace

from controller.authorization.caller import Caller
from controller.decisions.context import mutation_quotas
from controller.decisions.context.mutation_quotas import MutationBuckets
from controller.decisions.namespaces.namespaces import (
    CreateNamespace,
    DeleteNamespace,
    create_namespace,
    delete_namespace,
)
from controller.decisions.topics.topics import CreateTopics, NewTopic, create_topics
from controller.results.quota_charges import MUTATION_RATE, UNLIMITED
from records.configs import ClientQuotaRecord, EntityData
from records.envelope import Origin
from records.errors import RequestError
from tests.controller.cluster import Cluster
from tests.replay.builders import image_of

ANN = Origin(principal="User:ann", client="app at 127.0.0.1:5000")


def _quota(rate: float, **entity: str | None) -> ClientQuotaRecord:
    parts = [EntityData(entity_type=k.replace("_", "-"), entity_name=v) for k, v in entity.items()]
    return ClientQuotaRecord(entity=tuple(parts), key=MUTATION_RATE, value=rate, remove=False)


# The most special one first.
_QUOTAS = (
    _quota(1, user="ann", client_id="app"),
    _quota(2, user="ann", client_id=None),
    _quota(3, user="ann"),
    _quota(4, user=None, client_id="app"),
    _quota(5, user=None, client_id=None),
    _quota(6, user=None),
    _quota(7, client_id="app"),
    _quota(8, client_id=None),
)
_USER, _CLIENT = ("user", "ann"), ("client-id", "app")
_BUCKETS = ((_CLIENT, _USER),) * 2 + ((_USER,),) + ((_CLIENT, _USER),) * 2 + ((_USER,),)


@pytest.mark.parametrize("first", range(len(_QUOTAS)))
def test_the_most_special_quota_counts_and_fills_a_bucket_of_the_client(first: int) -> None:
    image = image_of(*_QUOTAS[first:])
    allowance = MutationBuckets().allowance(image, ANN, 0)
    assert allowance.rate == first + 1
    assert allowance.bucket == (*_BUCKETS, (_CLIENT,), (_CLIENT,))[first]


@pytest.mark.parametrize(
    "caller",
    [
        Caller(host="10.0.0.7"),
        Caller(host="10.0.0.7", real_principal="User:ANONYMOUS"),
        Caller(host="::1", port=5, forwarded_by=Caller(client_id="broker-1", host="h", port=1)),
        Caller(
            host="10.0.0.7",
            real_principal="User:CN=Ada, O=Org",
            forwarded_by=Caller(client_id="broker-1", host="10.0.0.2", port=1),
        ),
    ],
)
@pytest.mark.parametrize("client_id", ["app", "my app at home", "by through at"])
def test_quota_of_a_client_id_counts_whichever_way_the_client_comes(
    caller: Caller, client_id: str
) -> None:
    caller = replace(caller, principal="User:ann", client_id=client_id)
    image = image_of(_quota(7, client_id=client_id))
    allowance = MutationBuckets().allowance(image, caller.origin("topics create"), 0)
    assert allowance.bucket == (("client-id", client_id),)


@pytest.mark.parametrize(
    "origin",
    [
        None,
        Origin(),
        Origin(principal="controller", client="app"),
        Origin(principal="broker:1", client="app at 127.0.0.1:5000"),
    ],
)
def test_who_is_no_user_has_no_quota(origin: Origin | None) -> None:
    assert MutationBuckets().allowance(image_of(*_QUOTAS), origin, 0) is UNLIMITED


def test_quotas_of_others_and_of_other_kinds_do_not_count() -> None:
    bytes_rate = ClientQuotaRecord(
        entity=(EntityData(entity_type="user", entity_name="ann"),),
        key="producer_byte_rate",
        value=1,
        remove=False,
    )
    image = image_of(bytes_rate, _quota(1, user="bob"), _quota(1, ip=None))
    assert MutationBuckets().allowance(image, ANN, 0) is UNLIMITED


def test_a_client_in_this_process_is_known_by_its_name_alone() -> None:
    image = image_of(_quota(7, client_id="metalog"))
    origin = Origin(principal="User:ann", client="metalog")
    assert MutationBuckets().allowance(image, origin, 0).rate == 7


def test_a_bucket_fills_by_the_rate_up_to_eleven_seconds() -> None:
    image, buckets = image_of(_quota(2, user="ann")), MutationBuckets()

    def tokens(now_ms: int) -> float:
        return buckets.allowance(image, ANN, now_ms).tokens

    assert tokens(0) == 22
    buckets = buckets.charged(buckets.allowance(image, ANN, 0), 30)
    assert [tokens(ms) for ms in (-50, 0, 500, 4_000, 15_000, 60_000)] == [-8, -8, -7, 0, 22, 22]


def test_who_is_in_debt_is_told_how_long_to_wait() -> None:
    image, buckets = image_of(_quota(2, user="ann")), MutationBuckets()
    buckets = buckets.charged(buckets.allowance(image, ANN, 0), 25)
    with pytest.raises(RequestError, match="1500 ms") as caught:
        buckets.allowance(image, ANN, 0).check(0)
    assert (caught.value.code, caught.value.retry_ms) == ("THROTTLING_QUOTA_EXCEEDED", 1_500)
    buckets.allowance(image, ANN, 1_500).check(0)


def test_buckets_that_are_full_again_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation_quotas, "_BUCKETS_MAX", 2)
    image, buckets = image_of(_quota(1, client_id=None)), MutationBuckets()
    clients = [Origin(principal="User:ann", client=name) for name in "abc"]
    for origin, at_ms in zip(clients, (0, 5_000, 10_001), strict=True):
        buckets = buckets.charged(buckets.allowance(image, origin, at_ms), 10)
    left = [buckets.allowance(image, origin, 10_001).tokens for origin in clients]
    assert left == pytest.approx([11, 6.001, 1])
    assert len(buckets._by_client) == 2


def test_deleting_a_namespace_counts_the_partitions_of_its_topics() -> None:
    cluster = Cluster()
    cluster.add_brokers(1)
    cluster.do(create_namespace, CreateNamespace("org"))
    for name in ("a", "b"):
        cluster.create(name, *[[1]] * 10, namespace="org")
    cluster.write([_quota(1, user="ann")])
    cluster.asker = ANN
    cluster.do(delete_namespace, DeleteNamespace(name="org"))
    cluster.do(create_namespace, CreateNamespace("org"))
    cluster.now_ms += 8_999
    error = cluster.refused(delete_namespace, DeleteNamespace(name="org"))
    assert (error.code, error.retry_ms) == ("THROTTLING_QUOTA_EXCEEDED", 1)


@pytest.mark.parametrize("rate", [0, -1, float("nan")])
def test_a_rate_of_nothing_lets_nothing_in(rate: float) -> None:
    cluster = Cluster()
    cluster.add_brokers(1)
    cluster.write([_quota(rate, user="ann")])
    cluster.asker = ANN
    cluster.do(create_namespace, CreateNamespace("org"))
    request = CreateTopics(topics=(NewTopic(name="a", partitions=1, replication_factor=1),))
    (result,) = cluster.do(create_topics, request)
    assert result.refusal is not None
    assert result.refusal.code == "THROTTLING_QUOTA_EXCEEDED"
    assert result.refusal.retry_ms <= 2**31 - 1


def test_how_long_to_wait_fits_what_clients_are_told() -> None:
    image, buckets = image_of(_quota(1e-300, user="ann")), MutationBuckets()
    buckets = buckets.charged(buckets.allowance(image, ANN, 0), 10_000)
    with pytest.raises(RequestError) as caught:
        buckets.allowance(image, ANN, 0).check(0)
    assert caught.value.retry_ms == 2**31 - 1
