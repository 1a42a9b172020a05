"""DuckDB's dialect: Spark's functions as macros, and translation of the few words that differ.

Both engines read the same SQL texts. What a macro cannot express is translated word by word.
"""

import re
from collections.abc import Collection

import pyarrow

_MACROS = """
CREATE TEMP MACRO timestamp_millis(ms) AS make_timestamptz(ms * 1000);
CREATE TEMP MACRO unix_millis(moment) AS epoch_ms(moment);
CREATE TEMP MACRO from_utc_timestamp(moment, zone) AS timezone(zone, moment);
CREATE TEMP MACRO pmod(a, n) AS ((a % n) + n) % n;
CREATE TEMP MACRO size(items) AS len(items);
CREATE TEMP MACRO sort_array(items) AS list_sort(items);
CREATE TEMP MACRO array_except(a, b) AS
    CASE WHEN b IS NOT null THEN list_filter(a, lambda each: NOT list_contains(b, each)) END;
CREATE TEMP MACRO collect_list(item) AS coalesce(list(item) FILTER (item IS NOT null), []);
CREATE TEMP MACRO max_by(item, place) AS arg_max_null(item, place);
CREATE TEMP MACRO min_by(item, place) AS arg_min_null(item, place);
CREATE TEMP MACRO substring_index(text, mark, n) AS
    array_to_string(string_split(text, mark)[:n], mark);
CREATE TEMP MACRO sha2(text, bits) AS sha256(text);
"""

SETUP = f"""
SET TimeZone = 'UTC';
SET default_null_order = 'nulls_first_on_asc_last_on_desc';
{_MACROS}
SET lock_configuration = true;
"""
"""SQL to run first on each connection; afterwards the connection's settings are locked."""


def _list(type_: pyarrow.DataType) -> pyarrow.DataType:
    return pyarrow.list_(pyarrow.field("element", type_))  # as in Spark's answers and in Parquet


TYPES = {
    "array<int>": _list(pyarrow.int32()),
    "array<string>": _list(pyarrow.string()),
    "bigint": pyarrow.int64(),
    "boolean": pyarrow.bool_(),
    "decimal(20,0)": pyarrow.decimal128(20, 0),
    "double": pyarrow.float64(),
    "int": pyarrow.int32(),
    "string": pyarrow.string(),
    "timestamp": pyarrow.timestamp("us", tz="UTC"),
}
"""Arrow types of Spark's answers, by Spark's name of the type."""

_QUOTED = frozenset({"offset", "user"})
"""Column names that are reserved words in DuckDB."""

_WORDS = {"div": "//", "<=>": "IS NOT DISTINCT FROM"}

_TOKENS = re.compile(
    r"""
    (?P<kept> '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | :: )
    | : (?P<parameter> [a-z_]+ )
    | (?P<limit> \b offset \s+ \d+ )
    | (?P<word> \w+ | <=> )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def translated(text: str, parameters: Collection[str] = ()) -> str:
    """Translate an SQL text to DuckDB's dialect.

    Args:
        text: A query, in the part of Spark's dialect that our queries use, or in DuckDB's dialect.
        parameters: Names of the query's parameters, which the text refers to as `:name`.
    """

    def replaced(token: re.Match[str]) -> str:
        word = token["word"]
        if token["parameter"] in parameters:
            return f"${token['parameter']}"
        if word is None:
            return token[0]
        if word.lower() in _QUOTED:
            return f'"{word}"'
        return _WORDS.get(word.lower(), word)

    return _TOKENS.sub(replaced, text)
