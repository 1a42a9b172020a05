"""The arguments of a named query: a range of offsets, and parameters."""

import dataclasses
from collections.abc import Mapping

from records.errors import RequestError
from replay.audit.queries import QUERIES
from replay.audit.queries.query import Parameter, Query


@dataclasses.dataclass(frozen=True)
class Range:
    """The range of offsets of a query; both ends are inclusive."""

    first: int
    last: int


def chosen_parameters(query: Query, given: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """Return the values of all parameters of a query: the given values, else the defaults.

    Raises:
        RequestError: INVALID_REQUEST: the query has no such parameter, or a value has another type.
    """
    for name, value in given.items():
        if name not in query.parameters:
            known = ", ".join(query.parameters) or "none"
            raise RequestError(
                "INVALID_REQUEST", f"{query.name} has no parameter {name}; its parameters: {known}"
            )
        wanted = type(query.parameters[name])
        if type(value) is not wanted:
            raise RequestError(
                "INVALID_REQUEST",
                f"{name} of {query.name} must be of type {wanted.__name__}, not {value!r}",
            )
    chosen = {**query.parameters, **given}
    return chosen | {name: read(str(chosen[name])) for name, read in query.readers.items()}


def named_query(name: str) -> Query:
    """Return a query by its name.

    Raises:
        RequestError: INVALID_REQUEST: there is no query of this name.
    """
    if name == "digest":
        raise RequestError(
            "INVALID_REQUEST",
            "'digest' is not an audit; `metalog digest LOG --by spark` computes it with Spark",
        )
    if name not in QUERIES:
        raise RequestError(
            "INVALID_REQUEST", f"{name!r} is not an audit; `metalog audit list` lists them"
        )
    return QUERIES[name]
