"""Parsing of arguments and formatting of help for all commands of `metalog`.

- METALOG_LOG and METALOG_SERVER are used if an argument LOG, --log or --server is left out.
- A command that takes a point in time also takes --time-zone.
- A command that starts from a snapshot also takes --database.
- A command that can read past contradictions also takes --keep-going.
- A command with --config FILE takes its options from that file too.
- `--help` groups the commands, and the options of a command that has many.
"""

import inspect
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import update_wrapper
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
from typer import core
from typer.exceptions import TyperException
from typer.models import CommandFunctionType

from api.cli.commands import SECTIONS
from api.cli.options.authorizer_options import FILE_METAVAR, is_options_file
from api.cli.options.parameters import Argument, Parameter
from api.cli.parser import common_options
from api.cli.parser.coercion import without_pydantic
from api.cli.parser.quick import bound, is_shared, reset_common_options
from api.cli.source.source import SERVER_MARK
from api.cli.source.two_places import with_other
from api.cli.terminal.errors import Interrupted, NothingDone, interruptible, is_reads_only

_LOG, _SERVER = "METALOG_LOG", "METALOG_SERVER"
_OPTION = re.compile("-[^0-9]")
_WITHOUT_SNAPSHOTS = frozenset({"info", "tail", "wait"})
_POINTS = frozenset({"POINT", "P1"})


class Command(core.TyperCommand):
    """A command with the features listed in the module's docstring."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if any(getattr(param, "metavar", None) in _POINTS for param in self.params):
            self.params.append(common_options.time_zone_option())
        if self._asks():
            self.params.append(common_options.consistent_option())
        if self._starts_from_snapshots():
            self.params.append(common_options.database_option())
        if self.name in common_options.KEEP_GOING_VERBS and self._takes_log_argument():
            self.params.append(common_options.keep_going_option())

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, including --help."""
        return without_pydantic(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments, after adding those that the environment or an options file gives."""
        reset_common_options()
        if self.name == "diff":
            args = with_other(args, SERVER_MARK)
        self._refuse_log_option(ctx, args)
        given = tuple(args)  # the parser takes them out of the list
        try:
            rest = super().parse_args(ctx, self._with_file(ctx, self._completed(ctx, args)))
        except TyperException as error:
            self._point_at_log_option(ctx, given, error)
            raise
        if ctx.ignore_unknown_options:
            self._check_arguments(ctx)
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Print the arguments, and then the options in their groups."""
        groups: dict[str, list[Any]] = {}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx)
            if row is not None:
                is_argument = isinstance(param, core.TyperArgument)
                title = "Arguments" if is_argument else param.rich_help_panel or "Options"
                groups.setdefault(title, []).append(row)
        for title, rows in groups.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with interruptible(self.callback):
            return super().invoke(ctx)

    def _refuse_log_option(self, ctx: Any, args: list[str]) -> None:
        """Raise a usage error if --log is given to a command whose LOG is an argument."""
        options = args[: args.index("--")] if "--" in args else args
        named = any(arg == "--log" or arg.startswith("--log=") for arg in options)
        if named and self._takes_log_argument():
            ctx.fail(f"LOG is an argument here, not an option: {ctx.command_path} LOG")

    def _point_at_log_option(self, ctx: Any, args: Sequence[str], error: TyperException) -> None:
        """Add a hint about --log to an error, if a folder was given as an argument instead.

        A surplus argument counts as a folder, whether the folder exists or not.
        """
        takes_log = any("--log" in param.opts for param in self.params)
        given = any(arg.startswith(("--log", "--server")) for arg in args)
        if not takes_log or given:
            return
        text = error.format_message().rstrip(".")
        if text.startswith("Got unexpected extra argument") or any(map(os.path.isdir, args)):
            ctx.fail(f"{text}; LOG is an option here: {ctx.command_path} --log LOG")

    def _with_file(self, ctx: Any, args: list[str]) -> list[str]:
        """Apply the options of a file given as --config FILE; return the arguments without it."""
        option = next((param for param in self.params if param.metavar == FILE_METAVAR), None)
        if option is None or ctx.resilient_parsing:
            return args
        from api.cli.options.options_file import options_of_file

        given = self.make_parser(ctx).parse_args(args=list(args))[0].get(option.name) or ()
        files = [text for text in given if is_options_file(text)]
        if len(files) > 1:
            ctx.fail(f"two files are given with --config: {files[0]} and {files[1]}")
        if not files:
            return args
        try:
            found = options_of_file(Path(files[0]), self, ctx)
        except typer.BadParameter as error:
            error.ctx = ctx  # so that the help of this command is named
            raise
        ctx.default_map = found.values
        # Later ones count, so those of the command line do.
        return [*(word for config in found.configs for word in ("--config", config)), *args]

    def _check_arguments(self, ctx: Any) -> None:
        """Refuse an argument that looks like an unknown option; negative numbers are allowed."""
        for param in self.params:
            text = str(ctx.params.get(param.name))
            if isinstance(param, core.TyperArgument) and _OPTION.match(text):
                ctx.fail(f"No such option: {text}")

    def _completed(self, ctx: Any, args: list[str]) -> list[str]:
        log, server = os.environ.get(_LOG), os.environ.get(_SERVER)
        names_server = any(arg.startswith("--server") for arg in args)
        if not (log or server or names_server) or ctx.resilient_parsing:
            return args
        found = self.make_parser(ctx).parse_args(args=list(args))[0]
        given = {name for name, value in found.items() if value not in (None, ())}
        options = {param.name for param in self.params if isinstance(param, core.TyperOption)}
        if "help" in given:
            return args
        if self._takes_log_argument():
            return self._with_log(ctx, args, given, found.get("server"), options)
        if given & {"log", "server"}:
            return args
        known = [
            (name, value)
            for name, value in (("log", log), ("server", server))
            if value and name in options
        ]
        if len(known) > 1:
            ctx.fail(f"{_LOG} and {_SERVER} are both set; name one of --log LOG and --server URL")
        return [*(word for name, value in known for word in (f"--{name}", value)), *args]

    def _with_log(
        self, ctx: Any, args: list[str], given: set[str], server: str | None, options: set[str]
    ) -> list[str]:
        """Return the arguments with LOG first.

        LOG is the given argument, the server's URL after `SERVER_MARK`, or the environment's value.
        If a server is given, LOG must be left out.
        """
        is_lacking = self._lacks_log_argument(given)
        if server is not None:
            if not is_lacking:
                ctx.fail("LOG and --server are both given; name one of them")
            return [SERVER_MARK + server, *args]
        if not is_lacking:
            return args
        log = os.environ.get(_LOG)
        default = os.environ.get(_SERVER) if "server" in options else None
        if log and default:
            ctx.fail(f"{_LOG} and {_SERVER} are both set; name one of LOG and --server URL")
        if log:
            return [log, *args]
        return [SERVER_MARK + default, *args] if default else args

    def _starts_from_snapshots(self) -> bool:
        names = {param.name for param in self.params}
        return self._asks() and "database" not in names and self.name not in _WITHOUT_SNAPSHOTS

    def _asks(self) -> bool:
        """Return whether the command queries a log or a service."""
        names = {param.name for param in self.params}
        from_log = "log" in names and is_reads_only(self.callback)
        return "server" in names and (from_log or self._takes_log_argument())

    def _takes_log_argument(self) -> bool:
        arguments = [param for param in self.params if isinstance(param, core.TyperArgument)]
        return bool(arguments) and arguments[0].name == "log"

    def _lacks_log_argument(self, given: set[str]) -> bool:
        """True if fewer arguments were given than are required, i.e. LOG is missing."""
        arguments = [param for param in self.params if isinstance(param, core.TyperArgument)]
        required = [param for param in arguments if param.required]
        return sum(param.name in given for param in arguments) < len(required)


class Group(core.TyperGroup):
    """A group of commands. Converts interrupts to our errors; typer would end without a message."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments. This imports the command's modules, which takes about 0.3 s."""
        try:
            return super().make_context(*args, **kwargs)
        except KeyboardInterrupt as interrupt:
            raise NothingDone("stopped before anything was done") from interrupt

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, including --help."""
        return without_pydantic(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise Interrupted(str(interrupt)) from interrupt

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Print the commands by section, each with its untruncated summary."""
        rows = {name: _summary(self.get_command(ctx, name)) for name in self.list_commands(ctx)}
        sections = [("Commands", list(rows))] if ctx.parent else _sections(list(rows))
        for title, names in sections:
            with formatter.section(title):
                formatter.write_dl([(name, rows[name]) for name in names])


class App(typer.Typer):
    """A typer app whose commands are of class `Command`, and whose groups are of class `Group`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"cls": Group, "rich_markup_mode": None, **options})

    def command(
        self, name: str | None = None, **options: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """Register a command."""
        register = super().command(name, **{"cls": Command, **options})

        def declare(function: CommandFunctionType) -> CommandFunctionType:
            register(_with_typer(function))
            return function

        return declare


def _with_typer(function: Any) -> Any:
    """Return a command with all options declared with typer, shared options one by one."""

    def command(**given: Any) -> Any:
        return bound(function, given)()

    made: Any = update_wrapper(command, function)
    del made.__wrapped__
    parameters = [
        p.replace(annotation=_typer_annotation(p.annotation), kind=inspect.Parameter.KEYWORD_ONLY)
        for p in _parameters(function)
    ]
    # typer reads both.
    made.__annotations__ = {p.name: p.annotation for p in parameters}
    made.__signature__ = inspect.Signature(parameters)
    return made


def _parameters(function: Any) -> Iterator[inspect.Parameter]:
    for parameter in inspect.signature(function).parameters.values():
        if is_shared(parameter.annotation):
            yield from _parameters(parameter.annotation)
        else:
            yield parameter


def _typer_annotation(annotation: Any) -> Any:
    type_, *rest = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if not rest or not isinstance(rest[0], Parameter):
        return annotation
    declared = rest[0]
    make = typer.Argument if isinstance(declared, Argument) else typer.Option
    if declared.names:
        return Annotated[type_, make(*declared.names, **declared.settings)]
    return Annotated[type_, make(**declared.settings)]


def _sections(names: list[str]) -> list[tuple[str, list[str]]]:
    """Return the titles of sections with their commands."""
    sections = [(title, [n for n in of if n in names]) for title, of in SECTIONS.items()]
    listed = {name for _, of in sections for name in of}
    sections.append(("Other commands", [name for name in names if name not in listed]))
    return [(title, of) for title, of in sections if of]


def _summary(command: Any) -> str:
    """Return the first paragraph of a command's help, on one line."""
    return " ".join((command.help or "").split("\n\n")[0].split())
