"""The `import kraft` command: imports the metadata log of a Kafka cluster as a mirror."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.log.noops import Noop, is_collapse
from api.cli.options.parameters import Argument, Option
from api.cli.parser.typer_app import App
from api.cli.source.arguments import Controllers, Json, MappedControllers
from api.cli.source.opened_log import log_about, open_reader, replayed
from api.cli.source.source import kafka_path, log_path
from api.cli.terminal.errors import CORRUPT
from api.cli.terminal.output import print_json, print_line
from api.cli.terminal.progress_bar import progress
from metadata_log.files.names import MANIFEST

if TYPE_CHECKING:
    from metadata_log.kraft.importer import ImportResult

app = App()


@app.command()
def kraft(
    source: Annotated[
        Path,
        Argument(
            metavar="SOURCE",
            help="A __cluster_metadata-0 directory, or its parent.",
            parser=kafka_path,
        ),
    ],
    log: Annotated[
        Path,
        Argument(metavar="LOG", help="Directory of the mirror.", parser=log_path),
    ],
    noop: Noop = "collapse",
    strict: Annotated[
        bool, Option("--strict", help="Exit 5 when the last batch is incomplete.")
    ] = False,
    replace_all: Annotated[
        bool,
        Option("--replace-all", help="Allow a SOURCE that has nothing in common with the mirror."),
    ] = False,
    follow: Annotated[
        bool, Option("--follow", help="Keep copying from a running node, until stopped.")
    ] = False,
    tables: Annotated[
        Path | None,
        Option(
            metavar="DIR", help="Kafka message files that define records of your own fork of Kafka."
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Import a Kafka cluster's metadata log as a mirror, or bring its mirror up to date.

    Offsets below the newest checkpoint are committed, as is everything that a single voter wrote.
    Later records are imported too, but Kafka may still replace them; if it does, the next import
    replaces them in the mirror, after it has read and checked the whole source. Exit 1 if a record
    contradicts the state before it: the mirror is written nevertheless, and its bytes are intact.

    The mirror keeps the files of --tables, and shows records of their types by name and fields;
    these records have no effect on the image.
    """
    from metadata_log.format.kraft_tables import keep_tables, read_table_files
    from metadata_log.kraft.directory import open_directory
    from metadata_log.kraft.importer import import_directory
    from metadata_log.kraft.recorder import Recorder

    collapse_noops = is_collapse(noop)
    texts = None if tables is None else read_table_files(tables)
    directory = open_directory(source)
    size_bytes = sum(_size_bytes(segment.path) for segment in directory.segments)
    result = None
    with progress("importing", 0, size_bytes) as advance:
        if not (log / MANIFEST).exists():
            result = import_directory(
                directory, log, collapse_noops=collapse_noops, progress=advance
            )
        elif not follow:
            with Recorder(
                source, log, collapse_noops=collapse_noops, may_replace_all=replace_all
            ) as recorder:
                recorder.step(advance)
                result = recorder.result()
    if texts is not None:
        keep_tables(log, texts)
    if result is not None and json and not follow:
        print_json(result, log_about(log))
    elif result is not None and not json:
        if directory.segments:
            _print_result(result, log, _committed(result.committed_end_offset, result.last_offset))
        else:
            _print_checkpoint(result, log)
    if follow:
        from api.cli.log.recorder import record

        record(source, log, collapse_noops=collapse_noops, may_replace_all=replace_all, json=json)
    replayed(log)
    return CORRUPT if strict and not follow and result is not None and result.trailing_bytes else 0


@app.command(name="kafka")
def from_quorum(
    source: Controllers,
    log: Annotated[
        Path,
        Argument(metavar="LOG", help="Directory of the mirror.", parser=log_path),
    ],
    cluster_id: Annotated[
        str | None, Option(metavar="ID", help="The cluster's id, for a new mirror.")
    ] = None,
    brokers: Annotated[
        str | None,
        Option(metavar="HOST:PORT", help="Ask a broker for the cluster's id, for a new mirror."),
    ] = None,
    mapped: MappedControllers = None,
    noop: Noop = "collapse",
    follow: Annotated[
        bool, Option("--follow", help="Keep reading from the quorum, until stopped.")
    ] = False,
    json: Json = False,
) -> int:
    """Import the metadata log of a running Kafka cluster over the network, from its controllers.

    Short form: `metalog import kafka://HOST:PORT,HOST:PORT LOG`; with TLS or a login ssl://,
    sasl_ssl:// or sasl_plaintext://, with the settings in the file that $METALOG_CLIENT names.
    The cluster does not notice the reader. Offsets below the quorum's high watermark are
    committed; later records are imported too, and removed if the quorum withdraws them. If the
    quorum no longer has the next records, a new mirror takes the place of LOG, and LOG becomes
    LOG.part-1.

    Exit 6 if the quorum denies records that it had committed: the mirror stays as it is. Exit 1 if
    a record contradicts the state before it: the mirror is written nevertheless.
    """
    from api.cli.log.quorum_import import import_quorum

    collapse_noops = is_collapse(noop)
    result = import_quorum(
        source,
        log,
        cluster_id=cluster_id,
        brokers=brokers,
        mapped=mapped or (),
        collapse_noops=collapse_noops,
        follow=follow,
        json=json,
    )
    if result is not None and json:
        print_json(result, log_about(log))
    elif result is not None:
        _print_result(result, log, _below_high_watermark(result))
    replayed(log)
    return 0


def _below_high_watermark(result: "ImportResult") -> str:
    end_offset = result.committed_end_offset
    if end_offset > result.last_offset:
        return "all of it committed: it is below the quorum's high watermark"
    return (
        f"committed below {end_offset}, the quorum's high watermark; the quorum may still withdraw "
        "the rest"
    )


def _print_checkpoint(result: "ImportResult", log: Path) -> None:
    """Print what was imported from a directory that has a checkpoint and no segments."""
    print_line(f"{log} has the checkpoint at {result.committed_end_offset}, and no records")
    print_line(
        f"  the directory has no segments: the state at offset {result.last_offset} is known, "
        "not how it came to be"
    )


def _print_result(result: "ImportResult", log: Path, committed: str) -> None:
    print_line(f"imported {result.records:,} records into {log}")
    if result.records:
        print_line(f"  offsets {result.first_offset} to {result.last_offset}")
    if result.replaced is not None:
        from api.cli.log.recorder import replaced_text

        print_line(f"  {replaced_text(result.replaced)}")
    if result.source_end is not None:
        print_line(f"  the source ends at offset {result.source_end - 1}, before the mirror: kept")
    print_line(f"  {committed}")
    for name, count in result.by_type.items():
        print_line(f"  {count:>9,} {name}")
    if result.unknown_records:
        print_line(f"  {result.unknown_records} records of unknown type or version, kept raw")
    for name, count in _named_by_tables(log):
        print_line(f"  {count:>9,} {name}, known by its table, not replayed")
    if result.trailing_bytes:
        print_line(
            f"  {result.trailing_bytes} bytes of an incomplete last batch were left out: "
            "the node was writing, or stopped while it did"
        )


def _named_by_tables(log: Path) -> list[tuple[str, int]]:
    """Return the record types and tagged fields that only a mirror's tables describe.

    Returns:
        For each, its name and its number of records.
    """
    from replay.not_understood import unknown_kinds

    with open_reader(log) as reader:
        if not reader.tables:
            return []
        kinds = unknown_kinds(reader, reader.end_offset - 1)
    named = [kind for kind in kinds if kind.has_table]
    return [(kind.type if kind.tag is None else kind.text, kind.records) for kind in named]


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0  # Kafka removed it; the import will report what to do


def _committed(end_offset: int, last_offset: int) -> str:
    if end_offset > last_offset:
        return "all of it committed: a checkpoint covers it, or the quorum has one voter"
    if end_offset == 0:
        return "not confirmed: there is no checkpoint, so Kafka may still replace any of it"
    return f"committed below {end_offset}; not confirmed from there on: Kafka may still replace it"
