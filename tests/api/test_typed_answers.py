"""The JSON output of every command is a typed answer: no command builds a document from dicts.

The type checker accepts only structures in calls of `print_json`; these tests check that nothing
else prints JSON.
"""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import api.cli

ROOT = Path(api.cli.__file__).parent
PRINTER = ROOT / "terminal" / "output.py"
ENCODERS = {"dumps", "dump", "encode", "to_builtins", "asdict", "fields_json"}
"""What turns values into JSON; `encode` only of `msgspec.json`, not of text."""

PRINTERS = {"print_json", "print_json_line", "print_json_list", "json_line"}

OTHER_DICTS = {"admin/admin_client.py:_fields", "parser/quick.py:_values"}
"""An item and its error joined, and the parameters of a command; neither is a document."""


@functools.cache
def syntax_trees() -> dict[str, list[ast.AST]]:
    """Return the syntax nodes of each module of the command line, except those of the printer."""
    return {
        str(path.relative_to(ROOT)): list(ast.walk(ast.parse(path.read_text())))
        for path in sorted(set(ROOT.rglob("*.py")) - {PRINTER})
        if path.name != "__init__.py"
    }


def calls() -> Iterator[tuple[str, ast.Call, str]]:
    """Yield the place of each call, the call, and the name of the called function."""
    for module, nodes in syntax_trees().items():
        for node in nodes:
            if isinstance(node, ast.Call):
                yield f"{module}:{node.lineno}", node, ast.unparse(node.func)


def test_only_the_printer_makes_json() -> None:
    made = [
        place
        for place, _, name in calls()
        if name.rpartition(".")[2] in ENCODERS
        and (not name.endswith(".encode") or name.endswith("json.encode"))
    ]
    assert made == []


def test_only_the_printer_writes_to_standard_output() -> None:
    assert [place for place, _, name in calls() if name in {"print", "sys.stdout.write"}] == []


def test_no_dictionary_is_handed_to_the_printer() -> None:
    found = [
        place
        for place, call, name in calls()
        if name in PRINTERS
        and any(isinstance(argument, ast.Dict | ast.DictComp) for argument in call.args)
    ]
    assert found == []


def test_no_function_returns_a_document_as_a_dictionary() -> None:
    found = {
        f"{module}:{node.name}"
        for module, nodes in syntax_trees().items()
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None
        if ast.unparse(node.returns).strip("'").startswith(("dict[str, Any", "dict[str, object"))
    }
    assert found == OTHER_DICTS
