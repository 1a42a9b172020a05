"""Who changed topics, configs and rights, and which topics, in words."""

from collections.abc import Iterator, Sequence

import msgspec

from api.questions.clauses import Clause, Scope, counted, listed
from api.questions.past import Past
from metadata_log.format.manifest import Kind
from replay.incidents.topic_changes import TopicLife

_ACTORS_MAX = 3
"""Number of principals named in the summary; others are only counted."""

_DELETED_MAX, _CREATED_MAX = 2, 4
"""Numbers of topics named that were deleted, and that were only created."""

_TIMES_MAX = 5
"""Number of times told of a topic that was deleted; if there are more, they are only counted."""


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """Who changed topics, configs, rights and the like, and how often.

    Attributes:
        principal: None if unknown; then only changes of topics and configs are counted, because a
            controller makes other changes by itself.
    """

    principal: str | None
    changes: int


def of_changes(past: Past, actors: Sequence[Actor], scope: Scope) -> Clause:
    """Return the clause about who changed topics, configs and rights."""
    if not actors:
        return Clause(about="changes", text="nobody changed topics, configs or rights")
    known = [each for each in actors if each.principal is not None]
    unknown = sum(each.changes for each in actors if each.principal is None)
    log = "Kafka's log" if past.reader.kind is Kind.MIRROR else "the log"
    what = "; ".join(_topics(scope))
    if not known:
        what = what or f"{counted(unknown, 'change')} of topics or configs"
        return Clause(about="changes", text=f"{what}; {log} does not say by whom")
    said = [f"{each.principal} ({each.changes:,})" for each in known[:_ACTORS_MAX]]
    if len(known) > _ACTORS_MAX:
        said.append(counted(len(known) - _ACTORS_MAX, "other"))
    if unknown:
        said.append(f"principals that {log} does not name ({unknown:,})")
    text = f"topics, configs and rights changed by {', '.join(said)}"
    return Clause(about="changes", text=f"{text}; {what}" if what else text)


def _topics(scope: Scope) -> Iterator[str]:
    """Yield which topics were deleted and created, and how much else was changed."""
    changes = scope.found.topics
    gone = [each for each in changes.named if each.deleted]
    created = changes.created
    if 0 < len(gone) <= _DELETED_MAX:
        created -= sum(len(each.created) for each in gone)
        yield from (_life(each, scope) for each in gone)
    elif gone:
        told = gone[:_DELETED_MAX]
        names = [f"{each.name} at {_at(each.deleted, scope)}" for each in told]
        more = changes.deleted - sum(len(each.deleted) for each in told)
        yield f"{counted(changes.deleted, 'topic')} deleted ({listed([*names, f'{more:,} more'])})"
    if created:
        named = [each for each in changes.named if each.created and not each.deleted]
        names = [each.name for each in named[:_CREATED_MAX]]
        more = created - sum(len(each.created) for each in named[:_CREATED_MAX])
        names += [f"{more:,} more"] if more and names else []
        which = f" ({listed(names)})" if names else ""
        yield f"{counted(created, 'topic')} created{which}"
    others = ((changes.configured, "configs"), (changes.resized, "partition counts"))
    told_others = [f"{counted(count, 'change')} of {what}" for count, what in others if count]
    if told_others:
        yield ", ".join(told_others)


def _at(times: Sequence[int], scope: Scope) -> str:
    return listed([scope.clock.text(each) for each in times[-_DELETED_MAX:]])


def _life(each: TopicLife, scope: Scope) -> str:
    """Return when a topic was created and deleted, in order."""
    if len(each.created) + len(each.deleted) > _TIMES_MAX:
        last = scope.clock.text(each.deleted[-1])
        again = f" and created {counted(len(each.created), 'time')}" if each.created else ""
        return f"{each.name} deleted {counted(len(each.deleted), 'time')}, last at {last},{again}"
    return f"{each.name} " + ", ".join(
        f"{'created' if is_created else 'deleted'} at {scope.clock.text(time)}"
        for time, is_created in each.in_order()
    )
