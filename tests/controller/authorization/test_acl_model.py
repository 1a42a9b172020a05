"""The authorizer gives the same verdicts as a model that was written independently."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple

import pytest

from controller.authorization.acls import AclAuthorizer, Reason, Verdict
from controller.authorization.authorizer import Operation, Resource, ResourceType
from controller.decisions.levels import METADATA_VERSION
from records.base import Record, Uuid
from records.configs import FeatureLevelRecord
from records.security import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from replay.image.parts import PARTS
from tests.controller.authorization.acl_model import (
    ALL,
    ALLOW,
    ALTER_CONFIGS,
    CLUSTER,
    DENY,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    LITERAL,
    NAMESPACE,
    PREFIXED,
    READ,
    TOPIC,
    Entry,
    Model,
)
from tests.replay.builders import batches, image_after, image_of

PRINCIPALS = ("User:ann", "User:bob", "Group:ann")
HOSTS = ("10.0.0.1", "10.0.1.1")
NAMES = {
    TOPIC: ("a", "ab", "abc", "b", "*", "o:a", "o:ab", "o:p:a", "o:p:*", "op:a"),
    GROUP: ("a", "ab", "o:a"),
    NAMESPACE: ("o", "o:p", "op", "o:p:q"),
    CLUSTER: ("kafka-cluster",),
}
TYPES = (TOPIC, TOPIC, TOPIC, NAMESPACE, NAMESPACE, GROUP, CLUSTER)
OPERATIONS = tuple(operation.value for operation in Operation)
# Those that imply others, and those that are implied, are met more often.
COMMON = (*OPERATIONS, *(ALL, READ, DESCRIBE, ALTER_CONFIGS, DESCRIBE_CONFIGS) * 4)
QUESTIONS = 10
"""Asked of each set of entries."""


def random_acl(rng: random.Random) -> Entry:
    resource_type = rng.choice(TYPES)
    pattern = rng.choice((LITERAL, PREFIXED))
    name = rng.choice((*NAMES[resource_type], "*"))
    if pattern == PREFIXED:
        name = name[: rng.randint(1, len(name))]
    return Entry(
        resource_type=resource_type,
        name=name,
        pattern=pattern,
        principal=rng.choice((*PRINCIPALS, "User:*")),
        host=rng.choice((*HOSTS, "*", "*", "10.0.0.0/24")),
        operation=rng.choice(COMMON),
        permission=rng.choice((ALLOW, ALLOW, ALLOW, DENY)),
    )


def record_of(entry: Entry, number: int) -> AccessControlEntryRecord:
    resource_type, name, pattern, principal, host, operation, permission = astuple(entry)
    return AccessControlEntryRecord(
        id=Uuid(number.to_bytes(16)),
        resource_type=resource_type,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission,
    )


def verdicts(rng: random.Random) -> Iterator[Verdict]:
    """Yield verdicts on random questions about random entries; each is compared with the model."""
    entries = tuple([random_acl(rng) for _ in range(rng.choice((0, 1, 2, 5, 10, 20)))])
    ranges = rng.random() < 0.3
    super_users = frozenset({"User:bob"} if rng.random() < 0.1 else ())
    model = Model(entries, super_users, rng.random() < 0.5, ranges)
    records: list[Record] = [record_of(entry, n) for n, entry in enumerate(entries, start=1)]
    records.append(FeatureLevelRecord(name=METADATA_VERSION, feature_level=32 if ranges else 25))
    image = image_of(*records)
    authorizer = AclAuthorizer(super_users=super_users, allow_everyone=model.allow_everyone)
    for _ in range(QUESTIONS):
        principal, host = rng.choice(PRINCIPALS), rng.choice(HOSTS)
        operation = rng.choice([code for code in COMMON if code != ALL])
        resource_type = rng.choice(TYPES)
        name = rng.choice(NAMES[resource_type])
        resource = Resource(ResourceType(resource_type), name)
        verdict = authorizer.decide(image, principal, host, Operation(operation), resource)
        asked = (principal, host, operation, resource_type, name)
        assert verdict.allowed == model.allows(*asked), (asked, model)
        yield verdict


@pytest.mark.parametrize("seed", range(2))
def test_verdicts_are_those_of_the_model(seed: int) -> None:
    rng = random.Random(seed)
    met = Counter[tuple[bool, Reason]]()
    for _ in range(300):
        for verdict in verdicts(rng):
            met[verdict.allowed, verdict.reason] += 1
            if verdict.reason is Reason.ENTRY:
                assert verdict.entry is not None
                assert verdict.entry.permission_type == (ALLOW if verdict.allowed else DENY)
    assert {reason for _, reason in met} == set(Reason)
    assert min(met[True, Reason.ENTRY], met[False, Reason.ENTRY]) > 50


def test_the_index_is_the_same_however_the_entries_came() -> None:
    rng = random.Random(7)
    records: list[Record] = []
    for number in range(1, 200):
        records.append(record_of(random_acl(rng), number % 60 + 1))
        gone = Uuid(rng.randint(1, 60).to_bytes(16))
        if rng.random() < 0.3 and image_of(*records).acl(gone) is not None:
            records.append(RemoveAccessControlEntryRecord(id=gone))
    image = image_of(*records)
    one_by_one = image_after(batches(*[[record] for record in records]))
    for other in (one_by_one._acls, PARTS["acls"].held(image.acls())):
        assert other == image._acls
