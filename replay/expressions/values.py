"""Values of expressions (JSON values, objects, collections): equality, order, arithmetic."""

import re
from collections.abc import Callable, Collection
from operator import add, ge, gt, le, lt, mul, sub
from typing import Any

from records.errors import RequestError
from replay.image.metadata import MetadataImage

Token = tuple[Any, ...]
"""What an expression read: (kind,) for any object of a kind, or (kind, key) for one object."""

STEPS_MAX = 20_000_000
"""Elements that one request may visit: about ten times the partitions of a large cluster."""
STEPS_EACH = 100
"""Elements per evaluation that do not count towards STEPS_MAX: long histories need many of them."""
_TEXT_LENGTH_MAX = 1_000_000
INTEGER_MAX = 2**63 - 1
_DIGITS = re.compile(r"-?[0-9]{1,19}")


class Absent(Exception):
    """Raised if an object, key or index that an expression reads does not exist.

    CEL calls this an error. `||`, `&&`, `exists` and `all` ignore it if the other operand or
    elements decide the result.
    """


class Env:
    """State of one evaluation: the image, the tokens read, and the variables of macros.

    Attributes:
        listed: Objects by collection, cached because an inner macro iterates over them repeatedly.
    """

    __slots__ = ("image", "listed", "reads", "slots", "steps")

    def __init__(self, image: MetadataImage, slot_count: int, steps: int = 0) -> None:
        """Start an evaluation.

        Args:
            steps: Number of elements already visited by earlier evaluations for the same request.
        """
        self.image = image
        self.reads: set[Token] = set()
        self.listed: dict[Any, Any] = {}
        self.slots: list[Any] = [None] * slot_count
        self.steps = steps

    def step(self) -> None:
        """Count the visit of an element.

        Raises:
            RequestError: INVALID_REQUEST, the evaluation takes too long.
        """
        self.steps += 1
        if self.steps > STEPS_MAX:
            raise RequestError(
                "INVALID_REQUEST",
                f"the expression visits more than {STEPS_MAX:,} elements; nest fewer macros",
            )


Evaluate = Callable[[Env], Any]


def equal(left: Any, right: Any) -> bool:
    """True if two values are equal; values of different types are unequal, except numbers."""
    if type(left) is type(right) and type(left) is not list:
        return bool(left == right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, bool) is not isinstance(right, bool):
        return False
    return bool(left == right)


_ORDER = {"<": lt, "<=": le, ">": gt, ">=": ge}


def ordered(sign: str, left: Any, right: Any) -> bool:
    """Return the result of comparing two numbers or two texts.

    Args:
        sign: The operator: <, <=, > or >=.

    Raises:
        TypeError: the values have no order.
    """
    if not (is_number(left) and is_number(right)) and not (
        isinstance(left, str) and isinstance(right, str)
    ):
        raise TypeError(f"{type_name(left)} and {type_name(right)} cannot be ordered")
    return bool(_ORDER[sign](left, right))


def is_number(value: Any) -> bool:
    """True for integers and doubles."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def type_name(value: Any) -> str:
    """Return the name of a value's type for messages."""
    names = {bool: "bool", int: "int", float: "double", str: "string", type(None): "null"}
    return names.get(type(value), "list" if isinstance(value, list) else "object")


def calculate(sign: str, left: Any, right: Any) -> Any:
    """Return the result of an operation on two numbers, or the concatenation of two texts.

    Integers have 64 bits; their division rounds toward zero, as in CEL.

    Raises:
        TypeError: the operands are neither numbers of one type nor two texts to be added.
        Absent: division by zero, or a result out of range or too long.
    """
    if sign == "+" and isinstance(left, str) and isinstance(right, str):
        if len(left) + len(right) > _TEXT_LENGTH_MAX:
            raise Absent
        return left + right
    if not is_number(left) or type(left) is not type(right):
        raise TypeError(f"{sign} is not defined for {type_name(left)} and {type_name(right)}")
    if sign in "/%":
        if isinstance(left, float) and sign == "%":
            raise TypeError("% is not defined for doubles")
        return _divide(sign, left, right)
    result = {"+": add, "-": sub, "*": mul}[sign](left, right)
    if isinstance(result, int) and not -INTEGER_MAX - 1 <= result <= INTEGER_MAX:
        raise Absent
    return result


def _divide(sign: str, left: Any, right: Any) -> Any:
    if isinstance(left, float):
        if right == 0.0:
            raise Absent
        return left / right
    if right == 0:
        raise Absent
    quotient = abs(left) // abs(right) * (1 if (left < 0) is (right < 0) else -1)
    return quotient if sign == "/" else left - quotient * right


def is_member(value: Any, of: Collection[Any]) -> bool:
    """True if a collection contains an equal element."""
    return any(equal(value, each) for each in of)


def to_int(value: Any) -> int:
    """Convert a number or a text of digits to an integer; config values are texts.

    Raises:
        TypeError: the value is neither a number nor a text.
        Absent: the text is not a number, or out of range.
    """
    if not isinstance(value, str) and not is_number(value):
        raise TypeError(f"{type_name(value)} cannot become an int")
    if isinstance(value, str) and not _DIGITS.fullmatch(value):
        raise Absent
    try:
        found = int(value)  # cuts off doubles, as in CEL
    except (ValueError, OverflowError):
        raise Absent from None
    if not -INTEGER_MAX - 1 <= found <= INTEGER_MAX:
        raise Absent
    return found
