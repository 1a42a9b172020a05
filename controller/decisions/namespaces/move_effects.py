"""Effects of moving topics to another namespace: changed configs, ACLs and subscriptions.

Ids, partitions and the topics' own configs stay. Names change, and with them everything that
depends on names: inherited configs, ACLs, subscriptions, and the folders of replicas.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from controller.authorization.acls import entries_on, patterns_that_count
from controller.authorization.authorizer import topic_resource
from controller.decisions.config_definitions.topics import TOPIC_CONFIGS
from controller.decisions.configs.effective import Setting, effective_config, namespace_levels
from controller.decisions.context.context import Context
from controller.decisions.names import full_name
from controller.decisions.security.acls import AclFound, in_order
from controller.decisions.topics.subscriptions import Subscription, SubscriptionMatcher
from replay.image.acls import Acl, AclPattern
from replay.image.configs import TOPIC
from replay.image.topics import Topic


class ConfigShift(msgspec.Struct, frozen=True, kw_only=True):
    """A config whose effective value changes with the move, and the number of affected topics.

    `source` is the kind of level that sets the new value, `resource_name` that level's name.
    """

    name: str
    before: str
    after: str
    source: str
    resource_name: str
    topics: int


class MoveEffects(msgspec.Struct, frozen=True, kw_only=True):
    """Effects of a move, over all topics that it moves.

    `brokers` are the brokers with replicas of these topics; the folders of the replicas are
    renamed. ACLs and subscriptions are lost if they match an old name but not the new one, and
    gained if they match only the new one. None: the caller may not see them, or there were too many
    to examine.
    """

    partitions: int = 0
    brokers: tuple[int, ...] = ()
    configs: tuple[ConfigShift, ...] | None = ()
    acls_lost: tuple[AclFound, ...] | None = ()
    acls_gained: tuple[AclFound, ...] | None = ()
    subscriptions_lost: tuple[Subscription, ...] | None = ()
    subscriptions_gained: tuple[Subscription, ...] | None = ()


def move_effects(
    context: Context, topics: Sequence[Topic], source: str, target: str
) -> MoveEffects:
    """Return the effects of moving topics from one namespace to another.

    Costs O(topics, each with its partitions, the configs it sets and the length of its names), plus
    O(ACLs that are lost or gained).
    """
    image = context.image
    partitions = [p for topic in topics for p in image.partitions(topic.topic_id)]
    names = [(full_name(source, topic.name), full_name(target, topic.name)) for topic in topics]
    lost, gained = _acls(context, names)
    unsubscribed, subscribed = _subscriptions(context, names)
    return MoveEffects(
        partitions=len(partitions),
        brokers=tuple(sorted({broker_id for p in partitions for broker_id in p.replicas})),
        configs=_config_shifts(context, [old for old, _ in names], source, target),
        acls_lost=in_order(lost),
        acls_gained=in_order(gained),
        subscriptions_lost=unsubscribed,
        subscriptions_gained=subscribed,
    )


def _config_shifts(
    context: Context, names: Sequence[str], source: str, target: str
) -> tuple[ConfigShift, ...]:
    shifts: dict[str, tuple[Setting, Setting]] = {}
    for name, definition in TOPIC_CONFIGS.items():
        before = effective_config(namespace_levels(context, source), definition)
        after = effective_config(namespace_levels(context, target), definition)
        if before.effective != after.effective:
            shifts[name] = before, after
    own = Counter[str]()
    for topic in names:
        own.update(context.image.config(TOPIC, topic).keys() & shifts.keys())
    return tuple(
        [
            ConfigShift(
                name=name,
                before=before.effective,
                after=after.effective,
                source=after.source.value,
                resource_name=after.resource_name,
                topics=len(names) - own[name],
            )
            for name, (before, after) in sorted(shifts.items())
            if own[name] < len(names)
        ]
    )


def _acls(
    context: Context, names: Sequence[tuple[str, str]]
) -> tuple[Iterator[Acl], Iterator[Acl]]:
    image = context.image
    lost, gained = set[AclPattern](), set[AclPattern]()
    for old, new in names:
        before = patterns_that_count(image, topic_resource(old))
        after = patterns_that_count(image, topic_resource(new))
        lost |= before - after
        gained |= after - before
    return entries_on(image, lost), entries_on(image, gained)


def _subscriptions(
    context: Context, names: Sequence[tuple[str, str]]
) -> tuple[tuple[Subscription, ...] | None, tuple[Subscription, ...] | None]:
    matcher = SubscriptionMatcher(context)
    lost, gained = dict[Subscription, None](), dict[Subscription, None]()
    for old, new in names:
        before, after = matcher.of_topic(old), matcher.of_topic(new)
        if before is None or after is None:
            return None, None
        lost.update(dict.fromkeys(s for s in before if s not in after))
        gained.update(dict.fromkeys(s for s in after if s not in before))
    return _by_group(lost), _by_group(gained)


def _by_group(found: dict[Subscription, None]) -> tuple[Subscription, ...]:
    return tuple(sorted(found, key=lambda s: s.group))
