"""The commands as a typer app, for command lines that `quick` cannot parse, help and errors."""

import functools
import importlib
import os
import sys
from typing import Annotated, Any

import typer
from typer import exceptions
from typer.main import get_command, get_group

from api.cli.commands import COMMANDS, Noun, modules_of
from api.cli.parser.quick import DECLARED
from api.cli.parser.typer_app import App, Group
from api.cli.terminal.errors import DONE, USAGE, Interrupted, configure_logging, fail
from api.cli.terminal.output import print_line

app = App(
    name="metalog",
    help="Keep, replay and debug the metadata log of a cluster.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _need_command(context: typer.Context) -> None:
    """If a command group is called without a command, print its help and raise a usage error."""
    if context.invoked_subcommand is None:
        sys.stderr.write(context.get_help() + "\n")
        raise typer.Exit(USAGE)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print_line(f"metalog {version('metadata-log')}")
        print_line(f"codec: {_codec()}")
        raise typer.Exit(DONE)


def _codec() -> str:
    """Return the name of the codec in use, and what its distribution is not used for."""
    from metadata_log.kraft_format import compiled_rows
    from records.avro import compiled
    from replay.incidents import compiled_changes

    used = {
        "batches of Kafka": compiled_rows.is_used(),
        "changes of partitions": compiled_changes.is_used(),
    }
    unused = [work for work, is_used in used.items() if is_used is not compiled.CHOICE.is_compiled]
    return f"{compiled.name()}{', but not for ' * bool(unused)}{' and '.join(unused)}"


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Print tracebacks of errors.")] = False,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and the codec in use.",
            is_eager=True,
            callback=_print_version,
        ),
    ] = False,
) -> None:
    if debug:
        os.environ["METALOG_DEBUG"] = "1"
    _need_command(context)
    configure_logging(debug)


class _Noun(Group):
    """A command group that imports its verbs on first use."""

    def list_commands(self, ctx: Any) -> list[str]:
        self._load()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        self._load()
        return super().get_command(ctx, cmd_name)

    def _load(self) -> None:
        if not self.commands:
            self.commands.update(get_group(verbs(str(self.name))).commands)


def verbs(noun: str) -> typer.Typer:
    """Import a noun's modules, and return its typer app with all verbs."""
    first, *_ = map(importlib.import_module, modules_of(noun))
    found: typer.Typer = first.app
    return found


for _name, _row in COMMANDS.items():
    if isinstance(_row, Noun):
        _group = App(
            name=_name,
            help=_row.help,
            cls=_Noun,
            invoke_without_command=True,
            callback=_need_command,
        )
        app.add_typer(_group)


def complete_app() -> App:
    """Return the app with the commands of all modules that were imported."""
    added = {command.name for command in app.registered_commands}
    for name, command in DECLARED.items():
        if name not in added:
            app.command(name, **command.settings)(command.function)
    return app


@functools.lru_cache(maxsize=1)
def _parser(_commands: int, _groups: int) -> Any:
    """Return the app's parser, which is cached because building it is slow.

    The numbers of commands and groups are the key of the cache.
    """
    return get_command(app)


def run_app(arguments: list[str]) -> Any:
    """Run one command; return its result or exit code.

    Raises:
        Interrupted: the command was interrupted.
    """
    try:
        complete_app()
        parser = _parser(len(app.registered_commands), len(app.registered_groups))
        return parser(arguments, prog_name="metalog", standalone_mode=False)
    except exceptions.Exit as exit_:
        return exit_.exit_code
    except exceptions.TyperException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "metalog"
        return fail("USAGE", f"{error.format_message().rstrip('.')}; see `{path} --help`", USAGE)
    except exceptions.Abort as abort:
        if isinstance(abort.__cause__, EOFError):
            # Typer takes any for Ctrl-D at a prompt, and no command prompts.
            raise abort.__cause__ from None
        raise Interrupted(str(abort)) from abort
    except SystemExit as exit_:
        # Typer turns a broken pipe into this.
        if isinstance(exit_.__context__, BrokenPipeError):
            raise exit_.__context__ from None
        raise
