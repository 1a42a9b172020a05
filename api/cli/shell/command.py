"""The `shell` command."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.options.parameters import Option
from api.cli.parser.quick import command
from api.cli.source.arguments import At, Json, LogOrServer, Server, ShowSecrets
from api.cli.terminal.errors import reads_only, report
from api.cli.terminal.output import is_conversation, note, print_line
from api.printable import plain
from records.errors import MetadataLogError

if TYPE_CHECKING:
    from api.cli.shell.verbs import Shell

_HISTORY_LINES = 1_000


@command()
@reads_only
def shell(
    log: LogOrServer,
    at: At = "end",
    lines: Annotated[
        list[str] | None,
        Option("--command", metavar="LINE", help="Run this line and end; repeatable."),
    ] = None,
    json: Json = False,
    show_secrets: ShowSecrets = False,
    server: Server = None,
) -> int:
    """Walk through a cluster as a tree, at any point; `help` inside shows how."""
    from api.cli.shell.verbs import Shell

    opened = Shell(log, as_json=json, show_secrets=show_secrets)
    if at != "end":
        opened.cluster.move(at)
    if lines:
        return _run_all(opened, iter(lines))
    if is_conversation():
        return _converse(opened)
    return _run_all(opened, (line.rstrip("\n") for line in sys.stdin))


def _run_all(shell: "Shell", lines: Iterator[str]) -> int:
    """Run the lines of a script; the first error ends it."""
    from api.cli.shell.lines import END, CommandFailed, run_line

    for line in lines:
        if line.strip() in END:
            return 0
        if line.lstrip().startswith("#"):
            continue
        try:
            run_line(shell, line)
        except CommandFailed as failed:
            return failed.code
    return 0


def _converse(shell: "Shell") -> int:
    """Read lines from the terminal and run them; print errors and continue."""
    from api.cli.shell.lines import END, CommandFailed, run_line

    _edit(shell)
    note("`help` shows what there is, Ctrl-D leaves")
    while True:
        try:
            line = input(plain(f"{shell.folder} @{shell.point}> "))
            if line.strip() in END:
                return 0
            run_line(shell, line)
        except EOFError:
            print_line()
            return 0
        except KeyboardInterrupt:
            print_line()
        except CommandFailed:
            pass  # it said why
        except (MetadataLogError, OSError) as error:
            report(error)


def _edit(shell: "Shell") -> None:
    """Set up line editing, completion and history for `input`."""
    import atexit
    import readline

    from api.cli.shell.completion import DELIMITERS, completer

    readline.set_completer_delims(DELIMITERS)
    readline.set_completer(
        completer(shell, lambda: readline.get_line_buffer()[: readline.get_begidx()])
    )
    readline.parse_and_bind("tab: complete")
    readline.set_history_length(_HISTORY_LINES)
    path = _history_path()
    with contextlib.suppress(OSError):
        readline.read_history_file(path)

    def keep() -> None:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            # The file may name what only its owner may see.
            path.touch(mode=0o600)
            readline.write_history_file(path)

    atexit.register(keep)


def _history_path() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "metalog" / "shell_history"
