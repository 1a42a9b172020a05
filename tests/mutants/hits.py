"""Which test executes which statement: the sources get a counter before each statement.

A coverage library would do, but this also sees processes that tests start, however they end: the
counters are bytes of a file that all of them map.
"""

import ast
import hashlib
from pathlib import Path
from typing import Any

import msgspec

from tests.mutants.sites import bound_names

PACKAGES = ("records", "metadata_log", "replay", "controller", "api", "migrations")
COUNTERS = "hits.bin"
TABLE = "hits.json"
MODULE = "mutant_hits"

_MODULE_SOURCE = """
import mmap
from pathlib import Path
with (Path(__file__).parent / "hits.bin").open("r+b") as _file:
    HITS = mmap.mmap(_file.fileno(), 0)
"""


class Statement(msgspec.Struct, frozen=True):
    """A statement of a source: its key, its place, and every name in it.

    A statement that runs at import is not counted: it has no key, but the names that it sets.
    """

    key: str
    file: str
    function: str
    names: tuple[str, ...]
    bound: tuple[str, ...] = ()


def statement_key(file: str, function: str, text: str) -> str:
    """Return a key of a statement, which stays the same when lines above it change."""
    return hashlib.sha256(f"{file}\n{function}\n{text.strip()}".encode()).hexdigest()[:10]


def instrument(root: Path) -> None:
    """Insert counters into the sources of a tree, and write the table of their statements."""
    statements: list[Statement] = []
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            source = path.read_text()
            counted = _Counted(str(path.relative_to(root)), source.splitlines(), statements)
            before = len(statements)
            tree = counted.visit(ast.parse(source))
            if not any(statement.key for statement in statements[before:]):
                continue  # a list of names, or of constants, stays as it is
            at = _after_docstring(tree.body, futures=True)
            tree.body[at:at] = ast.parse(f"from {MODULE} import HITS as _HITS").body
            path.write_text(ast.unparse(ast.fix_missing_locations(tree)))
    (root / f"{MODULE}.py").write_text(_MODULE_SOURCE)
    (root / COUNTERS).write_bytes(bytes(len(statements)))
    (root / TABLE).write_bytes(msgspec.json.encode(statements))


def read_table(root: Path) -> list[Statement]:
    """Return the statement of each counter in an instrumented tree."""
    return msgspec.json.decode((root / TABLE).read_bytes(), type=list[Statement])


class _Counted(ast.NodeTransformer):
    """Puts `_HITS[n] = 1` before each statement in a function."""

    def __init__(self, file: str, lines: list[str], statements: list[Statement]) -> None:
        self._file = file
        self._lines = lines
        self._statements = statements
        self._names: list[str] = []
        self._depth = 0

    def _function(self, node: Any) -> Any:
        self._names.append(node.name)
        self._depth += 1
        node.body = self._block(node.body, docstring=True)
        self._depth -= 1
        self._names.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return self._function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        self._names.append(node.name)
        node.body = [self.visit(statement) for statement in node.body]
        self._names.pop()
        return node

    def visit(self, node: ast.AST) -> Any:
        if self._depth == 0 and isinstance(node, ast.stmt) and not isinstance(node, ast.ClassDef):
            bound = bound_names(node, self._names)
            self._statements.append(Statement("", self._file, "", _names_at_import(node), bound))
        return super().visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if self._depth:
            for field in ("body", "orelse", "finalbody"):
                block = getattr(node, field, None)
                if isinstance(block, list):
                    setattr(node, field, self._block(block, docstring=False))
            for field in ("handlers", "cases"):
                for part in getattr(node, field, []):
                    self.generic_visit(part)
            return node
        return super().generic_visit(node)

    def _block(self, block: list[ast.stmt], *, docstring: bool) -> list[ast.stmt]:
        at = _after_docstring(block) if docstring else 0
        found = block[:at]
        for statement in block[at:]:
            counter = len(self._statements)
            function = ".".join(self._names)
            key = statement_key(self._file, function, self._lines[statement.lineno - 1])
            self._statements.append(Statement(key, self._file, function, _names(statement)))
            found += ast.parse(f"_HITS[{counter}] = 1").body
            found.append(self.visit(statement))
        return found


def _names(node: ast.AST) -> tuple[str, ...]:
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return tuple(sorted(names | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}))


def _names_at_import(node: ast.stmt) -> tuple[str, ...]:
    """Return the names that a statement uses when its module is imported."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        looked_at = [
            *node.decorator_list,
            *node.args.defaults,
            *filter(None, node.args.kw_defaults),
        ]
        return tuple(sorted({name for part in looked_at for name in _names(part)}))
    return _names(node)


def _after_docstring(block: list[ast.stmt], *, futures: bool = False) -> int:
    at = 0
    for statement in block:
        match statement:
            case ast.Expr(value=ast.Constant(value=str())) if at == 0:
                at += 1
            case ast.ImportFrom(module="__future__") if futures:
                at += 1
            case _:
                break
    return at
