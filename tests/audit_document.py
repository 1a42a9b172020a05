"""Generates docs/audit.md: the SQL, columns and a result row of each query; and the notebook.

`python -m tests.audit_document` writes them; a test compares.
"""

import contextlib
import io
import re
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from api.cli.audit.answers import rows_of
from api.cli.main import run
from api.cli.terminal.output import value_text
from metadata_log.format.batch import Batch
from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.configs import ClientQuotaRecord, EntityData
from records.envelope import Envelope, Origin
from records.security import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    UserScramCredentialRecord,
)
from replay.audit.audit import Audit
from replay.audit.queries import QUERIES
from replay.audit.queries.asking import Range
from replay.audit.queries.query import Column, Query
from replay.audit.session import session
from tests.replay.audit.log_on_disk import write_log
from tests.replay.builders import change, partition, topic, uid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCUMENT = Path(__file__).parents[1] / "docs" / "audit.md"

_SECTIONS = re.compile(r"(?<=^## Queries\n).*?(?=^## )", re.MULTILINE | re.DOTALL)
_CELLS = re.compile(r"^```python\n(.*?)^```\n\n```text\n.*?^```\n", re.MULTILINE | re.DOTALL)
_INTRODUCTION = """
Below each query is the first row of its answer about the last third of a demo log, extended by a
topic, an ACL, a credential and a quota.
"""


def written(text: str, spark: "SparkSession", demo: Path, folder: Path) -> str:
    """Return the document with the sections of all queries and the output of its programs.

    Args:
        demo: A log written by `metalog demo`.
        folder: An empty folder.
    """
    sections = _query_sections(spark, demo, folder)
    (folder / "log").symlink_to(demo)
    names: dict[str, object] = {}
    with contextlib.chdir(folder):
        text = _CELLS.sub(lambda found: _cell(found[1], names), text)
    return _SECTIONS.sub(lambda _: _INTRODUCTION + sections + "\n", text)


def _cell(code: str, names: dict[str, object]) -> str:
    """Run a cell of the notebook; its cells share their names."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    return f"```python\n{code}```\n\n```text\n{printed.getvalue().rstrip()}\n```\n"


def _query_sections(spark: "SparkSession", demo: Path, folder: Path) -> str:
    with LogReader.open(demo) as reader:
        batches = list(reader.batches())
    files = write_log(folder, [*batches, *_afternoon(batches[-1])])
    offsets = Range(batches[-1].end_offset * 2 // 3, files.end_offset - 1)
    with Audit(spark, files, keep=True) as audit:
        rows = [_first_row(audit, query, offsets) for query in QUERIES.values()]
    return "".join(map(_section, QUERIES.values(), rows))


def _afternoon(last: Batch) -> list[Batch]:
    """Return batches that follow the demo, one record a minute."""
    acl_id = uid("acl")
    acl = AccessControlEntryRecord(
        id=acl_id,
        resource_type=2,
        resource_name="orders",
        pattern_type=3,
        principal="User:shop",
        host="*",
        operation=3,
        permission_type=3,
    )
    scram = UserScramCredentialRecord(
        name="shop", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"k", iterations=4_096
    )
    quota = ClientQuotaRecord(
        entity=(EntityData(entity_type="user", entity_name="shop"),),
        key="producer_byte_rate",
        value=1_048_576.0,
        remove=False,
    )
    happened: list[tuple[str, Record]] = [
        ("topics create", topic("orders")),
        ("topics create", partition("orders", 0, replicas=(1, 2), isr=(1, 2))),
        ("acls create", acl),
        ("users upsert", scram),
        ("quotas alter", quota),
        ("alter partition", change("orders", 0, isr=(1,))),
        ("fence stale broker", change("orders", 0, leader=-1)),
        ("elect", change("orders", 0, leader=2, isr=(2,), leader_recovery_state=1)),
        (
            "reassignments start",
            change(
                *("orders", 0), replicas=(2, 3, 1), adding_replicas=(3,), removing_replicas=(1,)
            ),
        ),
        (
            "alter partition",
            change(
                *("orders", 0),
                replicas=(2, 3),
                isr=(2, 3),
                adding_replicas=(),
                removing_replicas=(),
                leader_recovery_state=0,
            ),
        ),
        ("partitions set-mode", change("orders", 0, mode=1)),
        ("partitions set-mode", change("orders", 0, mode=0)),
        ("acls delete", RemoveAccessControlEntryRecord(id=acl_id)),
    ]
    return [
        _batch(last, minute, command, record) for minute, (command, record) in enumerate(happened)
    ]


def _batch(last: Batch, minute: int, command: str, record: Record) -> Batch:
    offset = last.end_offset + minute
    row = Envelope(
        offset=offset,
        leader_epoch=last.rows[-1].leader_epoch,
        timestamp=last.rows[-1].timestamp + (minute + 1) * 60_000,
        batch_offset=offset,
        record_version=0,
        origin=Origin(principal="User:ada", command=command, reason="the new shop"),
        payload=record,
    )
    return Batch.of([row])


def _first_row(audit: Audit, query: Query, offsets: Range) -> str:
    frame = audit.query(query, offsets)
    assert frame.dtypes == [(name, column.type) for name, column in query.columns.items()]
    answer = rows_of(frame, 1)
    if not answer.rows:
        return "(no rows)\n"
    width = max(map(len, answer.columns))
    pairs = zip(answer.columns, answer.rows[0], strict=True)
    return "".join(f"{name:<{width}}  {value_text(value)}\n" for name, value in pairs)


def _section(query: Query, row: str) -> str:
    given = ", ".join(f"`{name}` ({value})" for name, value in query.parameters.items())
    parameters = f" Parameters, with their defaults: {given}." if given else ""
    about = f"{query.description[0].upper()}{query.description[1:].partition(';')[0]}."
    sql = textwrap.dedent(query.sql).strip()
    return (
        f"\n### {query.name}\n{about}{parameters}\n\n```sql\n{sql}\n```\n\n"
        f"{_table(query.columns)}\n```text\n{row}```\n"
    )


def _table(columns: Mapping[str, Column]) -> str:
    rows = "".join(
        f"| `{name}` | {column.type} | {column.unit} | {column.about} | {column.null} |\n"
        for name, column in columns.items()
    )
    return f"| column | type | unit | | null |\n|---|---|---|---|---|\n{rows}"


def main() -> None:
    """Write the sections into the document."""
    with tempfile.TemporaryDirectory() as folder, session(quick=True) as spark:
        demo = Path(folder, "demo")
        assert run(["demo", str(demo), "--topics", "20", "--changes", "400", "--json"]) == 0
        log = Path(folder, "log")
        log.mkdir()
        DOCUMENT.write_text(written(DOCUMENT.read_text("utf-8"), spark, demo, log), "utf-8")


if __name__ == "__main__":
    main()
