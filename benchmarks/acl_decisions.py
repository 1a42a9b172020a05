"""Time of one authorization decision with 100,000 ACLs, compared with 100 ACLs."""

import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import Result
from controller.authorization.acls import AclAuthorizer, PatternType, PermissionType
from controller.authorization.authorizer import (
    Operation,
    Resource,
    ResourceType,
    topic_resource,
)
from records.base import Uuid
from replay.image.acls import Acl
from replay.image.metadata import MetadataImage
from replay.image.parts import PARTS

_FEW, _MANY = 100, 100_000
_ROUNDS, _DECISIONS = 30, 300
_HOST = "10.0.0.1"
_AUTHORIZER = AclAuthorizer()


def run(scratch: Path) -> list[Result]:
    """Measure three cases: an ACL for each topic, all ACLs on one topic, an ACL for each prefix."""
    return [_measured(name, acl, topic) for name, acl, topic in _SHAPES]


def _acl(number: int, name: str, pattern: PatternType, principal: str) -> Acl:
    return Acl(
        id=Uuid(number.to_bytes(16)),
        resource_type=ResourceType.TOPIC.value,
        resource_name=name,
        pattern_type=pattern.value,
        principal=principal,
        host="*",
        operation=Operation.READ.value,
        permission_type=PermissionType.ALLOW.value,
    )


_SHAPES: tuple[tuple[str, Callable[[int], Acl], Callable[[int], str]], ...] = (
    (
        "a topic each",
        lambda n: _acl(n, f"orders.{n:06}", PatternType.LITERAL, f"User:u{n:06}"),
        lambda n: f"orders.{n:06}",
    ),
    (
        "all on one topic",
        lambda n: _acl(n, "orders", PatternType.LITERAL, f"User:u{n:06}"),
        lambda n: "orders",
    ),
    (
        "a prefix each",
        lambda n: _acl(n, f"team{n:06}.", PatternType.PREFIXED, f"User:u{n:06}"),
        lambda n: f"team{n:06}.orders",
    ),
)


def _measured(name: str, acl: Callable[[int], Acl], topic: Callable[[int], str]) -> Result:
    images = [_image(acl, count) for count in (_MANY, _FEW)]
    costs: tuple[list[float], list[float]] = ([], [])
    gc.freeze()
    try:
        for _ in range(_ROUNDS):
            for image, count, times in zip(images, (_MANY, _FEW), costs, strict=True):
                times.append(_time(image, count, topic))
    finally:
        gc.unfreeze()
    ratios = [many / few for many, few in zip(*costs, strict=True)]
    many, few = (statistics.median(times) for times in costs)
    return Result(
        name=f"one decision at {_MANY:,} ACLs, {name} / at {_FEW:,}",
        ours=f"{many * 1e6:,.1f} us",
        peer=f"{few * 1e6:,.1f} us",
        ratio=statistics.median(ratios),
        target=3,
        at_most=True,
    )


def _image(acl: Callable[[int], Acl], count: int) -> MetadataImage:
    return MetadataImage(_acls=PARTS["acls"].held([acl(n) for n in range(1, count + 1)]))


def _time(image: MetadataImage, count: int, topic: Callable[[int], str]) -> float:
    """Return the average seconds per decision; half of the decisions allow the request."""
    asked: list[tuple[str, Resource]] = []
    for n in range(_DECISIONS):
        number = n * 7_919 % count + 1
        asked.append((f"User:u{number + n % 2:06}", topic_resource(topic(number))))
    start = time.process_time()
    for principal, resource in asked:
        _AUTHORIZER.decide(image, principal, _HOST, Operation.READ, resource)
    return (time.process_time() - start) / _DECISIONS
