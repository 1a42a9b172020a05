"""The grammar of expressions: the part of CEL that docs/expressions.md describes."""

from functools import cache
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from records.errors import RequestError

EXPRESSION_LENGTH_MAX = 10_000
"""Maximum number of characters in an expression: enough by hand, and it limits evaluation time."""

_GRAMMAR = r"""
?start: expression
?expression: either | either "?" either ":" expression -> conditional
?either: both ("||" both)*
?both: relation ("&&" relation)*
?relation: sum | relation COMPARISON sum -> compare | relation "in" sum -> contains
?sum: product | sum SIGN product -> arithmetic
?product: unary | product FACTOR unary -> arithmetic
?unary: member | "!" unary -> negated | "-" unary -> negative
?member: primary
    | member "." NAME -> select
    | member "." NAME "(" [arguments] ")" -> method
    | member "[" expression "]" -> index
?primary: "(" expression ")"
    | NAME -> name
    | NAME "(" [arguments] ")" -> call
    | "[" [arguments] "]" -> list
    | INTEGER -> integer
    | FLOAT -> double
    | STRING -> string
    | "true" -> true
    | "false" -> false
    | "null" -> null
arguments: expression ("," expression)*

COMPARISON: "==" | "!=" | "<=" | ">=" | "<" | ">"
SIGN: "+" | "-"
FACTOR: "*" | "/" | "%"
NAME: /[_a-zA-Z][_a-zA-Z0-9]*/
FLOAT: /[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?/ | /[0-9]+[eE][+-]?[0-9]+/
INTEGER: /0[xX][0-9a-fA-F]+/ | /[0-9]+/
STRING: /"([^"\\\n]|\\.)*"/ | /'([^'\\\n]|\\.)*'/
%import common.WS
%ignore WS
"""


def parse(text: str) -> Tree[Token]:
    """Return the syntax tree of an expression.

    Raises:
        RequestError: INVALID_REQUEST, a syntax error; names the column.
    """
    if not text.strip():
        raise RequestError("INVALID_REQUEST", "the expression is empty")
    if len(text) > EXPRESSION_LENGTH_MAX:
        raise RequestError(
            "INVALID_REQUEST", f"an expression has at most {EXPRESSION_LENGTH_MAX:,} characters"
        )
    try:
        found: Any = _parser().parse(text)
    except UnexpectedInput as error:
        raise _refusal(text, error) from None
    assert isinstance(found, Tree), "every expression is a tree"
    return found


def fail(part: Tree[Token] | Token, why: str) -> RequestError:
    """Return the error for a part of an expression, which names the part's column."""
    start = part.start_pos if isinstance(part, Token) else part.meta.start_pos
    return RequestError("INVALID_REQUEST", f"expression, column {(start or 0) + 1}: {why}")


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", propagate_positions=True)


def _refusal(text: str, error: UnexpectedInput) -> RequestError:
    column, found = len(text) + 1, "the expression ends too early"
    if isinstance(error, UnexpectedCharacters):
        column, found = (error.pos_in_stream or 0) + 1, f"{error.char!r} is not expected here"
    elif isinstance(error, UnexpectedToken) and error.token.type != "$END":
        column, found = (error.pos_in_stream or 0) + 1, f"{str(error.token)!r} is not expected here"
    return RequestError("INVALID_REQUEST", f"expression, column {column}: {found}")
