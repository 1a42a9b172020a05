"""Expressions over an image, and their values while a log is replayed.

The parser is imported with the first expression: a process that may get one starts without it.
"""

from typing import TYPE_CHECKING, Any

from records.base import Record
from records.configs import ConfigRecord
from records.partitions import PartitionChangeRecord, PartitionRecord
from replay.expressions.values import STEPS_EACH, Absent, Env, Token
from replay.expressions.vocabulary import PARTITIONS, Objects, PartitionsOf, Thing, record_types_of
from replay.image.metadata import MetadataImage
from replay.time_travel.kinds import KINDS

if TYPE_CHECKING:
    from lark import Token as LarkToken
    from lark import Tree

# An expression of these is false where it is absent; any other has no value there.
_CONDITIONS = frozenset({"either", "both", "compare", "contains", "negated"})
_CONDITION_CALLS = frozenset({"has", "all", "exists", "exists_one"})


class Expression:
    """A parsed expression.

    Attributes:
        text: The expression as written.
    """

    def __init__(self, text: str) -> None:
        """Parse an expression.

        Raises:
            RequestError: INVALID_REQUEST, a syntax error or an unknown name; names the column.
        """
        from replay.expressions.compiler import Compiler
        from replay.expressions.grammar import parse

        self.text = text
        self._tree = parse(text)
        self._is_condition = _is_condition(self._tree)
        Compiler(incremental=False).compile(self._tree)

    def evaluate(self, image: MetadataImage) -> Any:
        """Return the value in an image, as JSON.

        Stops at the first element that decides `exists` or `all`, and keeps no outcomes. An
        `IncrementalEvaluator` instead evaluates all elements once and keeps their outcomes; tests
        compare its values with those of this method.

        If the expression reads an object that does not exist, the result is false for a condition
        and None for any other expression.

        Raises:
            RequestError: INVALID_REQUEST, operand types do not match, or the evaluation takes too
                long; names the column.
        """
        from replay.expressions.compiler import Compiler

        compiler = Compiler(incremental=False)
        part = compiler.compile(self._tree)
        return self.value_of(part.evaluate, Env(image, compiler.slot_count))

    def incremental(self) -> "IncrementalEvaluator":
        """Return a new evaluator, which follows the value while records are replayed."""
        return IncrementalEvaluator(self)

    def value_of(self, evaluate: Any, env: Env) -> Any:
        """Evaluate the compiled expression; return the value as JSON."""
        try:
            return self._plain(evaluate(env), env)
        except Absent:
            return False if self._is_condition else None

    def _plain(self, value: Any, env: Env) -> Any:
        if isinstance(value, Thing):
            return f"{value.kind}:{KINDS[value.kind].label(env.image, value.key)}"
        if isinstance(value, Objects | PartitionsOf):
            from replay.expressions.grammar import fail

            raise fail(
                self._tree,
                "the expression gives a whole collection; use its size, or a condition on it",
            )
        if isinstance(value, list):
            return [self._plain(each, env) for each in value]
        return value


class IncrementalEvaluator:
    """The value of an expression while records are replayed; evaluated only when it may change.

    Attributes:
        types: Types of the records that may change the value.
        may_set: True for changes of partitions that may change the value.
    """

    def __init__(self, expression: Expression) -> None:
        from replay.expressions.compiler import Compiler
        from replay.expressions.fields_read import may_set

        self._expression = expression
        compiler = Compiler(incremental=True)
        self._evaluate = compiler.compile(expression._tree).evaluate
        self._ranges, self._slot_count = compiler.ranges, compiler.slot_count
        self.types = record_types_of(frozenset(compiler.collections))
        self.may_set = may_set(expression._tree)
        self._reads: set[Token] = set()
        self._steps = 0

    def start(self, image: MetadataImage) -> Any:
        """Return the value of the expression in an image.

        Call this with the first image, and again whenever `is_touched` has returned True.
        """
        env = Env(image, self._slot_count, self._steps)
        value = self._expression.value_of(self._evaluate, env)
        self._steps = max(0, env.steps - STEPS_EACH)
        self._reads = env.reads
        return value

    def found(self, image: MetadataImage, count_max: int) -> tuple[list[str], int]:
        """Return the objects that the expression's only macro over a collection found.

        Args:
            image: The image that was evaluated last.
            count_max: Maximum number of names; the returned number counts all objects.

        Returns:
            Names and number; ([], 0) if the expression has no such macro, or several.
        """
        if len(self._ranges) != 1 or self._ranges[0].macro == "map":
            return [], 0
        return self._ranges[0].found(image, count_max)

    def may_change(self, record: Record) -> bool:
        """True if a record may change the value; if False, it certainly does not."""
        if type(record) not in self.types:
            return False
        return any(
            token is None or token in self._reads or any(each.reads(token) for each in self._ranges)
            for token in _tokens_of(record)
        )

    def is_touched(self, tokens: set[Token]) -> bool:
        """Process the tokens of a change; True if the expression must be evaluated again."""
        # Every range has to note it.
        in_ranges = [each.touch(tokens) for each in self._ranges]
        return any(in_ranges) or not self._reads.isdisjoint(tokens)


def _tokens_of(record: Record) -> "tuple[Token | None, ...]":
    """Return the tokens that a record touches; None among them stands for unknown tokens."""
    if isinstance(record, PartitionChangeRecord | PartitionRecord):
        topic, partition = record.topic_id, record.partition_id
        found: tuple[Token, ...] = (("partition", (topic, partition)), ("topic", topic))
        return found if isinstance(record, PartitionChangeRecord) else (*found, PARTITIONS)
    if isinstance(record, ConfigRecord):
        return (("config", (record.resource_type, record.resource_name)), ("config",))
    return (None,)


def _is_condition(tree: "Tree[LarkToken]") -> bool:
    if tree.data == "call":
        return str(tree.children[0]) in _CONDITION_CALLS
    if tree.data == "method":
        return str(tree.children[1]) in {*_CONDITION_CALLS, "startsWith", "endsWith", "contains"}
    return tree.data in _CONDITIONS
