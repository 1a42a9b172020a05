"""Comments of tables and columns for SQLite; `.schema` shows them.

SQLite has no COMMENT statement, but keeps the text of CREATE TABLE. Importing this module makes
SQLAlchemy write the comments into that text.
"""

from typing import Any

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateColumn, CreateTable


@compiles(CreateTable, "sqlite")
def _create_table(element: CreateTable, compiler: Any, **kwargs: Any) -> str:
    text: str = compiler.visit_create_table(element, **kwargs)
    comment = element.element.comment
    return text.replace("(", f"( /* {comment} */", 1) if comment else text


@compiles(CreateColumn, "sqlite")
def _create_column(element: CreateColumn, compiler: Any, **kwargs: Any) -> str | None:
    text: str | None = compiler.visit_create_column(element, **kwargs)
    comment = element.element.comment
    return f"{text} /* {comment} */" if text and comment else text
