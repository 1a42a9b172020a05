"""Writes the fields' documentation from the schemas into the docstrings of the record classes.

After a change of a schema: `python -m tests.record_docs`.
"""

import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from records.base import Record
from records.registry import RECORD_TYPES

ROOT = Path(__file__).parents[1]
_WIDTH = 100


def documented() -> Iterator[tuple[type[Record], dict[str, str]]]:
    """Yield each class that a schema describes, also those of nested records, and its fields."""
    seen: set[type[Record]] = set()
    for record in RECORD_TYPES:
        text = (ROOT / "records" / "schemas" / f"{record.__name__}.avsc").read_text()
        module = inspect.getmodule(record)
        for name, fields in _records(json.loads(text)):
            found = record if name == record.__name__ else getattr(module, name, None)
            if found is not None and found not in seen and fields:
                seen.add(found)
                yield found, fields


def _records(schema: Any) -> Iterator[tuple[str, dict[str, str]]]:
    if isinstance(schema, list):
        for each in schema:
            yield from _records(each)
    elif isinstance(schema, dict) and schema.get("type") == "record":
        name = schema["name"].rpartition(".")[2]
        yield name, {each["name"]: each["doc"] for each in schema["fields"]}
        for each in schema["fields"]:
            yield from _records(each["type"])
    elif isinstance(schema, dict):
        yield from _records(schema.get("items", schema.get("type")))


def docstring(record: type[Record], fields: dict[str, str]) -> str:
    """Return the docstring that the class should have, with its present summary."""
    summary = inspect.getdoc(record) or ""
    summary = summary.partition("\n\nAttributes:\n")[0]
    names = [name for name in record.__struct_fields__ if name in fields]
    attributes = [_attribute(name, " ".join(fields[name].split())) for name in names]
    return "\n".join((summary, "", "Attributes:", *attributes))


def _attribute(name: str, text: str) -> str:
    # Of the line's width, the docstring is indented by four.
    wrap = textwrap.TextWrapper(_WIDTH - 4, initial_indent=" " * 4, subsequent_indent=" " * 8)
    wrap.break_on_hyphens = wrap.break_long_words = False
    return wrap.fill(f"{name}: {text}")


def _rewrite(record: type[Record], wanted: str) -> None:
    source = inspect.getsourcefile(record)
    assert source is not None
    path = Path(source)
    text = path.read_text()
    head = re.compile(rf'(class {record.__name__}\(.*?\):\n)    """.*?"""\n', re.DOTALL)
    body = textwrap.indent(wanted, "    ").lstrip()
    path.write_text(head.sub(lambda found: f'{found[1]}    """{body}\n    """\n', text, count=1))


def main() -> None:
    """Rewrite the docstrings."""
    for record, fields in documented():
        _rewrite(record, docstring(record, fields))


if __name__ == "__main__":
    main()
