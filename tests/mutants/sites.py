"""The small changes (mutations) that can be made to a source, found in its syntax tree.

A site is one change at one place. Excluded is what no test should notice: documentation,
annotations, what is for type checkers, messages (texts with spaces, f-strings), assertions,
imports and decorators.
"""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

_COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
_COMPARISON = re.compile(rb"not\s+in\b|is\s+not\b|\bin\b|\bis\b|[<>=!]=|<|>")
# What these are given is for people and type checkers.
_NAMING_CALLS = {"TypeVar", "ParamSpec", "NewType", "getLogger", "cast"}


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """One place in a file, and the text that replaces it.

    Attributes:
        key: Stays the same as long as the line and the name of its function do.
        line: Line of the change; `statement_line` is the first line of its statement.
        function: Qualified name of the enclosing function or class, "" for the module.
        bound: Names that the statement sets when its module is imported; empty in functions.
        start: First byte of the file that is replaced; `end` is exclusive.
    """

    key: str
    file: str
    line: int
    statement_line: int
    function: str
    bound: tuple[str, ...]
    operator: str
    start: int
    end: int
    new: str

    def mutated(self, source: bytes) -> bytes:
        """Return the source with the change."""
        return source[: self.start] + self.new.encode() + source[self.end :]


def find_sites(file: str, source: bytes) -> list[Site]:
    """Return every change that could be made to a source, in the order of the file."""
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    return finder.sites


class _Finder(ast.NodeVisitor):
    """Walks a module, and keeps track of the current statement and function."""

    def __init__(self, file: str, source: bytes) -> None:
        self.sites: list[Site] = []
        self._file = file
        self._source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._names: list[str] = []
        self._depth = 0
        self._statement: ast.stmt | None = None
        self._bound: tuple[str, ...] = ()
        self._seen: Counter[str] = Counter()

    # Places.

    def _start(self, node: Any) -> int:
        return self._lines[int(node.lineno) - 1] + int(node.col_offset)

    def _end(self, node: Any) -> int:
        return self._lines[int(node.end_lineno) - 1] + int(node.end_col_offset)

    def _add(self, operator: str, start: int, end: int, new: str) -> None:
        assert self._statement is not None
        line = self._source.count(b"\n", 0, start) + 1
        text = self._source[self._lines[line - 1] : self._lines[line]].strip().decode()
        function = ".".join(self._names)
        old = self._source[start:end].decode()
        identity = "\n".join((self._file, function, operator, text, old, new))
        self._seen[identity] += 1
        digest = hashlib.sha256(f"{identity}\n{self._seen[identity]}".encode()).hexdigest()
        self.sites.append(
            Site(
                key=digest[:12],
                file=self._file,
                line=line,
                statement_line=self._statement.lineno,
                function=function,
                bound=self._bound if self._depth == 0 else (),
                operator=operator,
                start=start,
                end=end,
                new=new,
            )
        )

    def _replace(self, operator: str, node: ast.AST, new: str) -> None:
        self._add(operator, self._start(node), self._end(node), new)

    def _between(
        self, operator: str, left: ast.AST, right: ast.AST, old: re.Pattern[bytes], new: str
    ) -> None:
        """Replace the operator between two nodes, unless a comment makes it hard to find."""
        start = self._end(left)
        gap = self._source[start : self._start(right)]
        found = old.search(gap)
        if found is not None and b"#" not in gap:
            self._add(operator, start + found.start(), start + found.end(), new)

    # Statements.

    def visit(self, node: ast.AST) -> None:
        if not isinstance(node, ast.stmt):
            super().visit(node)
            return
        outer, self._statement = self._statement, node
        if self._depth == 0 and not isinstance(node, ast.ClassDef):
            self._bound = bound_names(node, self._names)
        self._visit_statement(node)
        self._statement = outer

    def _visit_statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Assert():
                return
            case ast.If(test=ast.Name("TYPE_CHECKING")):
                # What is in its body is for type checkers, what is in its `else` is not.
                for statement in node.orelse:
                    self.visit(statement)
                return
            case ast.Assign(targets=[ast.Name("__all__")]):
                return
            case ast.Expr(value=ast.Constant()):
                return
            case ast.Expr():
                self._replace("remove call", node, "pass")
            case ast.Raise():
                self._replace("remove raise", node, "pass")
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                self._replace("return None", value, "None")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) if self._is_inner():
                self._replace("remove assignment", node, "pass")
            case ast.AugAssign(target=target, op=op, value=value):
                old, new = _ARITHMETIC[type(op)]
                pattern = re.compile(re.escape(old.encode()))
                self._between("swap arithmetic", target, value, pattern, new)
                self._replace("remove assignment", node, "pass")
            case ast.Break():
                self._replace("swap jump", node, "continue")
            case ast.Continue():
                self._replace("swap jump", node, "break")
            case ast.If(test=test) | ast.While(test=test):
                self._negate(test)
            case ast.AnnAssign(value=value):
                if value is not None:
                    self.visit(value)
                return
        super().visit(node)

    def _is_inner(self) -> bool:
        return self._depth > 0 and self._names[-1] != "__init__"

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(default)
        self._names.append(node.name)
        self._depth += 1
        for statement in node.body:
            self.visit(statement)
        self._depth -= 1
        self._names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._names.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._names.pop()

    # Expressions.

    def _negate(self, test: ast.expr) -> None:
        """Negate a condition that has no operator to replace."""
        match test:
            case ast.UnaryOp(op=ast.Not()) | ast.Compare(ops=[_]) | ast.Constant():
                return
        old = self._source[self._start(test) : self._end(test)].decode()
        self._replace("negate condition", test, f"not ({old})")

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_match_case(self, node: ast.match_case) -> None:
        if node.guard is not None:
            self._negate(node.guard)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            for new in _COMPARISONS[type(op)]:
                self._between("swap comparison", left, right, _COMPARISON, new)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        pattern = re.compile(rb"\b" + old.encode() + rb"\b")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between("swap and/or", left, right, pattern, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._add("drop not", self._start(node), self._start(node.operand), "")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not _is_type_union(node):
            old, new = _ARITHMETIC[type(node.op)]
            pattern = re.compile(re.escape(old.encode()))
            self._between("swap arithmetic", node.left, node.right, pattern, new)
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        match node.func:
            case ast.Name(id=name) if name in _NAMING_CALLS:
                return
            case ast.Attribute(attr=name) if name in _NAMING_CALLS:
                return
            case ast.Name(id=name) if name in _CALLS and not (name == "sorted" and node.keywords):
                self._replace("swap call", node.func, _CALLS[name])
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip f-strings: they are messages, and Python 3.11 does not know positions inside
        them.
        """

    def visit_Constant(self, node: ast.Constant) -> None:
        for new in _other_constants(node.value):
            self._replace("change constant", node, new)


def _other_constants(value: object) -> Iterator[str]:
    match value:
        case bool():
            yield str(not value)
        case int():
            yield str(value + 1)
            if value:
                yield str(value - 1)
        case float():
            yield repr(value + 1)
        case str() if value and not re.search(r"\s", value):
            yield repr(value + "?")
        case bytes() if value:
            yield repr(value + b"?")


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_type_union(node: ast.BinOp) -> bool:
    """True if the node is a union of types, such as `A | None`."""

    def is_type(side: ast.expr) -> bool:
        match side:
            case ast.BinOp():
                return _is_type_union(side)
            case ast.Constant(value=None):
                return True
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return name.strip("_")[:1].isupper() and not name.isupper()
            case ast.Call():
                return False
        return isinstance(side, ast.Subscript) and is_type(side.value)

    return isinstance(node.op, ast.BitOr) and is_type(node.left) and is_type(node.right)


def _statements_in(node: ast.stmt) -> list[ast.stmt]:
    """Return the statements of a condition at import, such as one on the platform."""
    return [*node.body, *node.orelse] if isinstance(node, ast.If) else []


def bound_names(node: ast.stmt, names: list[str]) -> tuple[str, ...]:
    """Return the names that a statement sets at import: its targets, and the enclosing class."""
    bound = set(names)
    for inner in _statements_in(node):
        bound.update(bound_names(inner, names))
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            bound.add(name)
        case ast.Assign() | ast.AnnAssign():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound |= {
                n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)
            }
    return tuple(sorted(bound))
