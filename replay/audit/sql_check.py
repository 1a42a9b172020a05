"""Checks that a query only reads our views: first its parsed plan, then its analyzed plan.

The whole parsed plan is walked, including subqueries and definitions. Each node must be of an
allowed kind, each function must be allowed by name, and each relation must be one of our views or
defined by the query itself. Only then may Spark analyze it, because analysis resolves functions and
opens files. The analyzed plan is walked again, to check what the names resolved to.
"""

from collections.abc import Iterator, Set
from typing import Any, NamedTuple

from py4j.java_gateway import JavaObject, is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from records.errors import RequestError, UnavailableError
from replay.audit.client_parser import client_parser
from replay.audit.session import is_remote
from replay.audit.sql_kinds import (
    ANALYZED_PLANS,
    EXPRESSIONS,
    FOREIGN_CODE,
    FUNCTIONS,
    PARSED_PLANS,
    TABLE_FUNCTIONS,
)

_ANALYSIS = "org.apache.spark.sql.catalyst.analysis."
_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."

_PLAN = _LOGICAL + "LogicalPlan"
_EXPRESSION = _EXPRESSIONS + "Expression"
_SUBQUERY = _EXPRESSIONS + "SubqueryExpression"
_USER_DEFINED = _EXPRESSIONS + "UserDefinedExpression"
_ITERABLE = "scala.collection.Iterable"
_OPTION = "scala.Option"
_PRODUCT = "scala.Product"

_ONE_QUERY = (
    "`audit sql` takes one query that only reads: SELECT, VALUES, TABLE or FROM over the views, or "
    "DESCRIBE of a view; see docs/spark.md"
)
_FUNCTIONS_ALLOWED = (
    "a query may call Spark's built-in functions, except those that run code or read files; see "
    "docs/spark.md"
)


class Reads(NamedTuple):
    """What a query reads.

    Attributes:
        views: Names of the views.
        is_repeated: True if Spark may compute their rows several times: to sample them before it
            sorts them, or because the query names a view twice.
    """

    views: frozenset[str]
    is_repeated: bool


def parse_query(spark: SparkSession, text: str) -> JavaObject:
    """Parse a query with the session's parser, without resolving names.

    Raises:
        ParseException: the text is not SQL.
        RequestError: INVALID_REQUEST: Spark's parser fails in another way.
        UnavailableError: for a session of Spark Connect: see `client_parser`.
    """
    if is_remote(spark):
        parser = client_parser(spark)
    else:
        parser = spark._jsparkSession.sessionState().sqlParser()
    try:
        return parser.parsePlan(text)
    except Py4JJavaError as error:
        what = str(error.java_exception.getMessage()).strip().partition("\n")[0]
        raise RequestError("INVALID_REQUEST", f"{what}: {_ONE_QUERY}") from None


def as_frame(spark: SparkSession, plan: JavaObject) -> DataFrame:
    """Return a DataFrame from a checked plan, without parsing the text again."""
    dataset = getattr(spark._jvm, "org.apache.spark.sql.classic.Dataset")
    return DataFrame(dataset.ofRows(spark._jsparkSession, plan), spark)


def check_server_functions(spark: SparkSession) -> None:
    """Check that a Spark Connect server does not shadow Spark's built-in functions.

    Used instead of `check_analyzed`, because a client cannot see the analyzed plan.

    Raises:
        UnavailableError: some functions are shadowed; names these functions.
    """
    rows = spark.sql("SHOW USER FUNCTIONS").collect()
    names = {row[0].rpartition(".")[2].lower() for row in rows}
    if taken := sorted(names & (FUNCTIONS | TABLE_FUNCTIONS)):
        raise UnavailableError(
            "the server defines functions with the names of Spark's built-in functions: "
            f"{', '.join(taken)}; a query could run them instead of Spark's, so drop them or use "
            "another server"
        )


def is_show_tables(plan: JavaObject) -> bool:
    """True if the plan is SHOW TABLES without pattern or database."""
    if _class_name(plan) != _LOGICAL + "ShowTables":
        return False
    is_here = _class_name(plan.namespace()) == _ANALYSIS + "CurrentNamespace$"
    return is_here and bool(plan.pattern().isEmpty())


def check_parsed(plan: JavaObject, views: Set[str]) -> Reads:
    """Check a parsed plan, and return what it reads.

    Args:
        plan: The plan, as returned by `parse_query`.
        views: Names of the relations that may be read, in lower case.

    Raises:
        RequestError: INVALID_REQUEST, names what is refused and what is allowed.
    """
    return _ParsedPlan(views).check(plan)


def check_analyzed(frame: DataFrame) -> None:
    """Check that an analyzed query reads only temporary views and calls only Spark's own functions.

    The frame's session must have no temporary views except ours.

    Raises:
        RequestError: INVALID_REQUEST, names what is refused.
    """
    waiting = [frame._jdf.queryExecution().analyzed()]
    while waiting:
        node = waiting.pop()
        name = _class_name(node)
        if _is(node, name, _EXPRESSION):
            if (
                not name.startswith(_EXPRESSIONS)
                or name in FOREIGN_CODE
                or _is(node, name, _USER_DEFINED)
            ):
                raise _refused(f"function {node.prettyName()}", _FUNCTIONS_ALLOWED)
            if _is(node, name, _SUBQUERY):
                waiting.append(node.plan())
        elif name == _LOGICAL + "View":
            if not node.isTempView():
                raise _refused(f"relation {node.desc().identifier().unquotedString()}", _ONE_QUERY)
            continue
        elif name not in ANALYZED_PLANS:
            raise _refused(_simple(name), _ONE_QUERY)
        else:
            waiting.extend(_each(node.expressions()))
        waiting.extend(_each(node.children()))


class _ParsedPlan:
    """A walk over a parsed plan, top down, with an explicit stack because plans can be deep."""

    def __init__(self, views: Set[str]) -> None:
        self._views = views
        self._named: set[str] = set()
        self._is_repeated = False
        # Nodes to visit, each with the names defined by the WITH clauses around it.
        self._waiting: list[tuple[Any, frozenset[str]]] = []

    def check(self, plan: JavaObject) -> Reads:
        if _class_name(plan) == _LOGICAL + "DescribeRelation":
            self._described_view(plan.relation())
        else:
            self._waiting.append((plan, frozenset()))
        while self._waiting:
            value, defined = self._waiting.pop()
            if isinstance(value, JavaObject):
                self._visit(value, defined)
        return Reads(frozenset(self._named), self._is_repeated)

    def _visit(self, value: JavaObject, defined: frozenset[str]) -> None:
        name = _class_name(value)
        is_node = _is(value, name, _PLAN) or _is(value, name, _EXPRESSION)
        if is_node and name not in PARSED_PLANS | EXPRESSIONS:
            raise _refused(_simple(name), _ONE_QUERY)
        if name == _LOGICAL + "UnresolvedWith":
            self._with_clause(value, defined)
            return
        if name == _LOGICAL + "Sort":
            self._is_repeated = True
        self._check_names(name, value, defined)
        self._waiting.extend((part, defined) for part in _parts(value, name))

    def _check_names(self, name: str, value: JavaObject, defined: frozenset[str]) -> None:
        match name.removeprefix(_ANALYSIS):
            case "UnresolvedRelation":
                self._relation(list(_each(value.multipartIdentifier())), defined)
                if not value.options().isEmpty():
                    raise _refused("WITH (options) of a relation", _ONE_QUERY)
            case "UnresolvedFunction":
                _check_function(list(_each(value.nameParts())), FUNCTIONS)
                if value.isInternal():
                    raise _refused("internal function", _FUNCTIONS_ALLOWED)
            case "UnresolvedTableValuedFunction":
                _check_function(list(_each(value.name())), TABLE_FUNCTIONS)
            case "UnresolvedGenerator":
                _check_function([value.name().unquotedString()], TABLE_FUNCTIONS)

    def _with_clause(self, clause: JavaObject, defined: frozenset[str]) -> None:
        """Visit a WITH clause. A definition may use earlier ones and, if RECURSIVE, itself."""
        for definition in _each(clause.cteRelations()):
            name = definition._1().lower()
            seen_inside = defined | {name} if clause.allowRecursion() else defined
            self._waiting.append((definition._2(), seen_inside))
            defined |= {name}
        self._waiting.append((clause.child(), defined))

    def _described_view(self, relation: JavaObject) -> None:
        if _class_name(relation) != _ANALYSIS + "UnresolvedTableOrView":
            raise _refused(f"DESCRIBE of {_simple(_class_name(relation))}", _ONE_QUERY)
        self._relation(list(_each(relation.multipartIdentifier())), frozenset())

    def _relation(self, parts: list[str], defined: frozenset[str]) -> None:
        name = parts[0].lower()
        if len(parts) == 1 and name in self._views | defined:
            if name not in defined:
                self._is_repeated |= name in self._named
                self._named.add(name)
            return
        raise _refused(
            f"relation {_dotted(parts)}",
            f"a query reads the views {', '.join(sorted(self._views))}, and what it defines with "
            "WITH",
        )


def _check_function(parts: list[str], allowed: frozenset[str]) -> None:
    if len(parts) != 1 or parts[0].lower() not in allowed:
        raise _refused(f"function {_dotted(parts)}", _FUNCTIONS_ALLOWED)


def _refused(what: str, allowed: str) -> RequestError:
    return RequestError("INVALID_REQUEST", f"{what} is not allowed here: {allowed}")


def _dotted(parts: list[str]) -> str:
    return ".".join(part if part.isidentifier() else f"`{part}`" for part in parts)


def _simple(class_name: str) -> str:
    return class_name.rpartition(".")[2].rstrip("$")


def _class_name(value: JavaObject) -> str:
    name: str = value.getClass().getName()
    # IsUnknown and its like are anonymous subclasses, made by a companion object.
    return name.partition("$$anon")[0]


def _parts(value: JavaObject, name: str) -> Iterator[Any]:
    """Yield the parts of a plan node: children, options, lists, and structures of those."""
    if _is(value, name, _ITERABLE) or _is(value, name, _OPTION):
        return _each(value)
    if _is(value, name, _PRODUCT):
        return _iterate(value.productIterator())
    return iter(())


def _each(values: JavaObject) -> Iterator[Any]:
    return _iterate(values.iterator())


def _iterate(iterator: JavaObject) -> Iterator[Any]:
    while iterator.hasNext():
        yield iterator.next()


_KNOWN: dict[tuple[str, str], bool] = {}


def _is(value: JavaObject, name: str, kind: str) -> bool:
    """True if an object of class `name` is an instance of `kind`; cached per class."""
    question = (name, kind)
    if question not in _KNOWN:
        _KNOWN[question] = is_instance_of(SparkContext._gateway, value, kind)
    return _KNOWN[question]
