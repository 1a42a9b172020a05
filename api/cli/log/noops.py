"""The option that says how an import stores NoOps."""

from typing import Annotated

from api.cli.options.parameters import Option, bad_parameter

Noop = Annotated[
    str,
    Option(
        "--noop",
        metavar="collapse|keep",
        help="Store consecutive NoOps as one record (collapse), or each as its own (keep).",
    ),
]


def is_collapse(noop: str) -> bool:
    """Return whether consecutive NoOps are stored as one record.

    Raises:
        typer.BadParameter: the text is neither collapse nor keep.
    """
    if noop not in ("collapse", "keep"):
        raise bad_parameter(f"{noop!r} is neither collapse nor keep", param_hint="--noop")
    return noop == "collapse"
