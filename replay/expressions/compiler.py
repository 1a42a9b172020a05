"""Compiles the syntax tree of an expression into functions that evaluate it."""

from collections.abc import Callable
from typing import Any

import msgspec
from lark import Token, Tree

from replay.expressions.fields_read import fields_of_element
from replay.expressions.functions import CONSTANTS, FUNCTIONS, METHODS, size_of
from replay.expressions.grammar import fail
from replay.expressions.macros import MACROS, ObjectsRange, Range
from replay.expressions.values import (
    Absent,
    Env,
    Evaluate,
    calculate,
    equal,
    is_member,
    is_number,
    ordered,
    type_name,
)
from replay.expressions.vocabulary import (
    COLLECTIONS,
    PLAIN,
    PLAIN_KINDS,
    SHAPES,
    Objects,
    PartitionsOf,
    Shape,
    Thing,
    plain_field,
)
from replay.image.metadata import MetadataImage

_DEPTH_MAX = 100
_NO_ENV = Env(MetadataImage.EMPTY, 0)  # for constants
_Tree = Tree[Token]


class Part(msgspec.Struct, frozen=True):
    """A compiled part of an expression, with the static type of its value.

    `length` computes the size of the value without the value; None if that would not be faster.
    """

    evaluate: Evaluate
    shape: Shape = PLAIN
    length: Evaluate | None = None


class Compiler:
    """Compiles one expression.

    Attributes:
        collections: Names of the collections that the expression uses.
        ranges: The macros (`exists`, `all`, ...) whose outcome per object is cached.
        slot_count: Number of variables in the expression's macros.
    """

    def __init__(self, *, incremental: bool) -> None:
        self.collections: set[str] = set()
        self.ranges: list[ObjectsRange] = []
        self.slot_count = 0
        self._incremental = incremental
        self._variables: dict[str, tuple[int, Shape]] = {}
        self._depth = 0

    def compile(self, tree: _Tree) -> Part:
        """Return the compiled form of a tree.

        Raises:
            RequestError: INVALID_REQUEST, a name does not exist, or the tree is nested too deeply;
                names the column.
        """
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise fail(tree, f"the expression is nested more than {_DEPTH_MAX} deep; simplify it")
        part: Part = getattr(self, f"_{tree.data}")(tree)
        self._depth -= 1
        return part

    def _evaluate(self, tree: Any) -> Evaluate:
        return self.compile(tree).evaluate

    # Constants

    def _constant(self, tree: _Tree) -> Part:
        try:
            value = CONSTANTS[tree.data](*map(str, tree.children))
        except ValueError as error:
            raise fail(tree, str(error)) from None
        return Part(lambda env: value)

    _integer = _double = _string = _true = _false = _null = _constant

    def _list(self, tree: _Tree) -> Part:
        parts = [self._evaluate(each) for each in _arguments(tree.children[0])]
        return Part(lambda env: [part(env) for part in parts])

    # Names, fields and elements

    def _name(self, tree: _Tree) -> Part:
        name = str(tree.children[0])
        if name in self._variables:
            slot, shape = self._variables[name]
            return Part(lambda env: env.slots[slot], shape)
        objects = COLLECTIONS.get(name)
        if objects is None:
            raise fail(tree, f"there is no {name!r}: names are {', '.join(COLLECTIONS)}")
        self.collections.add(name)
        return Part(lambda env: objects, SHAPES[name])

    def _select(self, tree: _Tree) -> Part:
        of, name = self.compile(_tree(tree.children[0])), str(tree.children[1])
        shape = PLAIN
        if of.shape.fields is not None:
            if name not in of.shape.fields:
                known = ", ".join(of.shape.fields)
                raise fail(
                    _word(tree), f"a {of.shape.name} has no field {name!r}; its fields: {known}"
                )
            shape = of.shape.fields[name]
        elif of.shape.element is not None:
            if of.shape.name == "partitions" and of.shape is not SHAPES["partitions"]:
                raise fail(
                    tree, f"partitions have no field {name!r}; name one by its id: partitions[0]"
                )
            shape = of.shape.element
        if of.shape.fields is not None and of.shape.name in PLAIN_KINDS:
            return _plain_selection(of.evaluate, name, shape)
        return Part(_guarded(tree, _selector(of.evaluate, name)), shape)

    def _index(self, tree: _Tree) -> Part:
        of, index = self.compile(_tree(tree.children[0])), self._evaluate(tree.children[1])
        shape = of.shape.element or PLAIN

        def evaluate(env: Env) -> Any:
            return _element(env, of.evaluate(env), index(env))

        return Part(_guarded(tree, evaluate), shape)

    def _contains(self, tree: _Tree) -> Part:
        value, of = map(self._evaluate, tree.children)

        def evaluate(env: Env) -> bool:
            where, wanted = of(env), value(env)
            if isinstance(where, Objects | PartitionsOf):
                try:
                    where.get(env, wanted)
                except Absent:
                    return False
                return True
            if isinstance(where, list | dict):
                return is_member(wanted, where)
            raise TypeError(f"`in` needs a list or a map on its right, not a {type_name(where)}")

        return Part(_guarded(tree, evaluate))

    # Operators

    def _either(self, tree: _Tree) -> Part:
        return self._deciding(tree, decisive=True)

    def _both(self, tree: _Tree) -> Part:
        return self._deciding(tree, decisive=False)

    def _deciding(self, tree: _Tree, *, decisive: bool) -> Part:
        parts = [_condition(_tree(each), self._evaluate(each)) for each in tree.children]

        def evaluate(env: Env) -> bool:
            is_absent = False
            for part in parts:
                try:
                    if part(env) is decisive:
                        return decisive
                except Absent:
                    is_absent = True
            if is_absent:
                raise Absent
            return not decisive

        return Part(evaluate)

    def _conditional(self, tree: _Tree) -> Part:
        of = _tree(tree.children[0])
        condition, then, other = map(self._evaluate, tree.children)
        condition = _condition(of, condition)
        return Part(lambda env: then(env) if condition(env) else other(env))

    def _compare(self, tree: _Tree) -> Part:
        left, right = self._evaluate(tree.children[0]), self._evaluate(tree.children[2])
        sign = str(tree.children[1])
        if sign == "==":
            return Part(lambda env: equal(left(env), right(env)))
        if sign == "!=":
            return Part(lambda env: not equal(left(env), right(env)))
        return Part(_guarded(tree, lambda env: ordered(sign, left(env), right(env))))

    def _arithmetic(self, tree: _Tree) -> Part:
        left, right = self._evaluate(tree.children[0]), self._evaluate(tree.children[2])
        sign = str(tree.children[1])
        return Part(_guarded(tree, lambda env: calculate(sign, left(env), right(env))))

    def _negated(self, tree: _Tree) -> Part:
        part = _condition(_tree(tree.children[0]), self._evaluate(tree.children[0]))
        return Part(lambda env: not part(env))

    def _negative(self, tree: _Tree) -> Part:
        number = _tree(tree.children[0])
        if number.data in ("integer", "double"):
            negative = -self._evaluate(number)(_NO_ENV)
            return Part(lambda env: negative)
        part = self._evaluate(number)

        def evaluate(env: Env) -> Any:
            value = part(env)
            if not is_number(value):
                raise TypeError(f"a {type_name(value)} cannot be negated")
            return -value

        return Part(_guarded(tree, evaluate))

    # Functions and macros

    def _call(self, tree: _Tree) -> Part:
        name, trees = str(tree.children[0]), _arguments(tree.children[1])
        if name == "has" and len(trees) == 1:
            return self._has(trees[0])
        if name == "size" and len(trees) == 1:
            return self._size(tree, self.compile(trees[0]))
        function = FUNCTIONS.get(name)
        if function is None or len(trees) != 1:
            raise fail(tree, f"there is no function {name}() of {len(trees)} arguments")
        argument = self._evaluate(trees[0])
        return Part(_guarded(tree, lambda env: function(argument(env))))

    def _method(self, tree: _Tree) -> Part:
        of, name = _tree(tree.children[0]), str(tree.children[1])
        trees = _arguments(tree.children[2])
        if name in MACROS:
            return self._macro(tree, name, of, trees)
        if name == "size" and not trees:
            return self._size(tree, self.compile(of))
        method = METHODS.get(name)
        if method is None or len(trees) != 1:
            raise fail(_word(tree), f"there is no method {name}() of {len(trees)} arguments")
        text, argument = self._evaluate(of), self._evaluate(trees[0])
        return Part(_guarded(tree, lambda env: method(text(env), argument(env))))

    def _has(self, tree: _Tree) -> Part:
        part = self._evaluate(tree)

        def evaluate(env: Env) -> bool:
            try:
                part(env)
            except Absent:
                return False
            return True

        return Part(evaluate)

    def _size(self, tree: _Tree, of: Part) -> Part:
        if isinstance(of.evaluate, ObjectsRange) and of.evaluate.macro == "filter":
            return Part(_guarded(tree, of.evaluate.matching))
        if of.length is not None:
            return Part(_guarded(tree, of.length))
        return Part(_guarded(tree, lambda env: size_of(env, of.evaluate(env))))

    def _macro(self, tree: _Tree, name: str, of: _Tree, trees: list[_Tree]) -> Part:
        variables = [str(each.children[0]) for each in trees[:-1] if each.data == "name"]
        if not 2 <= len(trees) <= 3 or len(variables) != len(trees) - 1:
            raise fail(
                tree,
                f"{name}() needs one or two variables and a condition; write {name}(x, condition) "
                f"or {name}(key, x, condition)",
            )
        outer, is_top = self._variables, not self._variables
        collection = self.compile(of)
        slots = []
        self._variables = dict(outer)
        for variable in variables:
            slots.append(self.slot_count)
            is_element = variable == variables[-1]
            shape = collection.shape.element if is_element else None
            self._variables[variable] = (self.slot_count, shape or PLAIN)
            self.slot_count += 1
        body = self.compile(trees[-1])
        self._variables = outer
        range_ = Range(name, collection.evaluate, tuple(slots), body.evaluate)
        shape = Shape("list", element=collection.shape.element) if name == "filter" else PLAIN
        objects = COLLECTIONS.get(str(of.children[0])) if of.data == "name" else None
        if self._incremental and is_top and objects is not None and objects.keyed:
            # The name of a partition is not among its fields.
            is_plain = objects.kind.name == "partition" and len(variables) == 1
            fields = fields_of_element(trees[-1], variables[0]) if is_plain else ()
            remembered = ObjectsRange(range_, objects, lambda error: fail(tree, str(error)), fields)
            self.ranges.append(remembered)
            return Part(remembered, shape)
        return Part(_guarded(tree, range_), shape)


def _tree(child: Any) -> _Tree:
    assert isinstance(child, Tree)
    return child


def _word(tree: _Tree) -> Token:
    """Return the token after a dot: the name of a field or method."""
    word = tree.children[1]
    assert isinstance(word, Token)
    return word


def _arguments(child: Any) -> list[_Tree]:
    return [] if child is None else list(child.children)


def _guarded(tree: _Tree, evaluate: Evaluate) -> Evaluate:
    """Return `evaluate`, changed to raise type errors as RequestErrors that name the column."""

    def guarded(env: Env) -> Any:
        try:
            return evaluate(env)
        except TypeError as error:
            raise fail(tree, str(error)) from None

    return guarded


def _condition(tree: _Tree, evaluate: Evaluate) -> Callable[[Env], bool]:
    """Return a function that evaluates a condition and checks that it is a bool."""

    def condition(env: Env) -> bool:
        value = evaluate(env)
        if not isinstance(value, bool):
            what = f"this is a {type_name(value)}, neither true nor false; write a comparison"
            raise fail(tree, what)
        return value

    return condition


def _selector(of: Evaluate, name: str) -> Evaluate:
    def evaluate(env: Env) -> Any:
        value = of(env)
        if isinstance(value, Thing):
            return value.select(env, name)
        return _element(env, value, name)

    return evaluate


def _plain_selection(of: Evaluate, name: str, shape: Shape) -> Part:
    """Return the compiled access to a field that every object of its kind has."""

    def evaluate(env: Env) -> Any:
        return plain_field(of(env).value, name)

    def length(env: Env) -> int:
        value = getattr(of(env).value, name)
        return len(value) if type(value) is tuple else size_of(env, evaluate(env))

    return Part(evaluate, shape, length)


def _element(env: Env, of: Any, index: Any) -> Any:
    if isinstance(of, Objects | PartitionsOf):
        return of.get(env, index)
    if isinstance(of, dict):
        if index not in of:
            raise Absent
        return of[index]
    if isinstance(of, list):
        if not isinstance(index, int) or isinstance(index, bool):
            raise TypeError(f"a list has no element {index!r}")
        if not 0 <= index < len(of):
            raise Absent
        return of[index]
    if of is None:
        raise Absent
    raise TypeError(f"a {type_name(of)} has no elements")
