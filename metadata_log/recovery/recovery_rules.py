"""The recovery decision table: what a writer does with the bytes it finds past the commit mark.

The limit is the end offset that is proven to have been acknowledged: the mark's end, or a higher
end that a later block or segment proves. Below the limit nothing may be missing. From the limit on,
complete blocks are kept, because they may have been acknowledged, and the log ends at the first
bytes that are not a complete block.

The folder of a node is a copy of a shared log, and the node answers before its own disk has the
records. So a proof that records were acknowledged does not mean that they were on this disk. Where
another log is damaged, such a folder is cut back, and the node fetches the rest. If whole segments
would go, the node first asks whether the shared log has what was in them.

docs/reliability.md shows the table as `as_markdown` writes it, and
tests/metadata_log/test_recovery_rules.py goes through every combination on real files.
"""

from enum import Enum

import msgspec


class Marked(Enum):
    """State of the segment that the mark points into."""

    NO_MARK = "no slot has a valid mark"
    MISSING = "the file is missing"
    SHORT = "the file ends before the marked byte"
    LONG_ENOUGH = "the file includes the marked byte"


class Next(Enum):
    """State of the segment after the current one."""

    NONE = "there is none"
    UNREADABLE = "its header is damaged"
    LATER = "it follows bytes that are not intact here"
    FOLLOWS = "it follows the intact bytes here"


class Rest(Enum):
    """The bytes after the last complete block of the current segment."""

    NOTHING = "the file ends"
    TORN = "bytes that are not the next complete block"
    TORN_BELOW_LIMIT = "such bytes, and a later block proves that records there were acknowledged"


class Action(Enum):
    """The action of a recovering writer on the bytes past the commit mark."""

    REFUSE = "refuse: the acknowledged end is unknown"
    SHORT_COPY = "refuse: a short copy"
    DAMAGE = "refuse: acknowledged records are damaged or missing"
    KEEP = "keep: the log ends here"
    CUT = "cut the rest: the log ends here"
    GO_ON = "continue with the next segment"
    CUT_AND_GO_ON = "cut the rest, continue with the next segment"
    CUT_BACK = "cut back to the last intact block; segments go only if the shared log has the rest"


REFUSALS = frozenset({Action.REFUSE, Action.SHORT_COPY, Action.DAMAGE})
"""The actions that open nothing and change nothing: an operator decides."""


class Rule(msgspec.Struct, frozen=True):
    """One row of the decision table; an empty set stands for any value.

    Attributes:
        action: What a writer of a log of its own does.
        on_node: What a node does with its folder, the copy of a shared log.
    """

    marked: frozenset[Marked]
    next: frozenset[Next]
    rest: frozenset[Rest]
    action: Action
    on_node: Action
    why: str


def _rule(
    action: Action,
    why: str,
    *,
    marked: Marked = Marked.LONG_ENOUGH,
    next_is: tuple[Next, ...] = (),
    rest: tuple[Rest, ...] = (),
) -> Rule:
    on_node = Action.CUT_BACK if action in REFUSALS else action
    return Rule(frozenset({marked}), frozenset(next_is), frozenset(rest), action, on_node, why)


RULES = (
    _rule(
        Action.REFUSE,
        "without a mark a torn tail and damage look the same",
        marked=Marked.NO_MARK,
    ),
    _rule(
        Action.DAMAGE,
        "its name was on stable storage before any record in it was acknowledged",
        marked=Marked.MISSING,
    ),
    _rule(
        Action.SHORT_COPY,
        "a mark is never ahead of the data, except in a copy of a live log",
        marked=Marked.SHORT,
    ),
    _rule(
        Action.DAMAGE,
        "a segment is published only when its header is on stable storage",
        next_is=(Next.UNREADABLE,),
    ),
    _rule(
        Action.DAMAGE,
        "a segment begins only when all bytes before it are on stable storage",
        next_is=(Next.LATER,),
    ),
    _rule(
        Action.GO_ON, "the usual end of a segment", next_is=(Next.FOLLOWS,), rest=(Rest.NOTHING,)
    ),
    _rule(
        Action.CUT_AND_GO_ON,
        "a fenced writer kept writing after its successor had ended the segment",
        next_is=(Next.FOLLOWS,),
        rest=(Rest.TORN, Rest.TORN_BELOW_LIMIT),
    ),
    _rule(
        Action.KEEP, "the writer was closed normally", next_is=(Next.NONE,), rest=(Rest.NOTHING,)
    ),
    _rule(
        Action.CUT,
        "a crash while these bytes were being written: they were never acknowledged",
        next_is=(Next.NONE,),
        rest=(Rest.TORN,),
    ),
    _rule(
        Action.DAMAGE,
        "durable_end: all bytes below it were on stable storage when the block was encoded",
        next_is=(Next.NONE,),
        rest=(Rest.TORN_BELOW_LIMIT,),
    ),
)
"""The rules, in no particular order: each combination of states fits exactly one."""


def rule_for(marked: Marked, next_segment: Next, rest: Rest) -> Rule:
    """Return the rule for the states of the marked segment, the next segment and the last bytes."""
    (rule,) = [
        rule
        for rule in RULES
        if marked in rule.marked
        and (not rule.next or next_segment in rule.next)
        and (not rule.rest or rest in rule.rest)
    ]
    return rule


def decide(marked: Marked, next_segment: Next, rest: Rest) -> Action:
    """Return the action of the rule that `rule_for` returns for these states."""
    return rule_for(marked, next_segment, rest).action


def as_markdown() -> str:
    """Return the decision table in Markdown."""
    lines = [
        "| marked segment | next segment | rest | action | why | in a node's folder |",
        "|---|---|---|---|---|---|",
    ]
    for rule in RULES:
        cells = [_any_of(rule.marked), _any_of(rule.next), _any_of(rule.rest)]
        cells += [f"**{rule.action.value}**", rule.why]
        cells.append("the same" if rule.on_node is rule.action else rule.on_node.value)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _any_of(values: frozenset[Enum]) -> str:
    return "; or ".join(sorted(str(value.value) for value in values)) or "any"
