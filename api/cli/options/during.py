"""The option --during: a range in one word, instead of --from and --to."""

from typing import Annotated

from api.cli.options.parameters import Option, bad_parameter

During = Annotated[
    str | None,
    Option(
        "--during",
        metavar="RANGE",
        help="Instead of --from and --to: FROM..TO, `last night`, `yesterday` or `today`.",
    ),
]

_NAMED = {
    "last night": ("last night", "last night"),
    "yesterday": ("yesterday 00:00", "yesterday 23:59:59.999"),
    "today": ("today 00:00", "today 23:59:59.999"),
}


def range_of(during: str | None, from_: str, to: str | None) -> tuple[str, str | None]:
    """Return the points of a range, as of --from and --to.

    Args:
        from_, to: Values of --from and --to; `start`, and `end` or None, if they are not given.

    Raises:
        typer.BadParameter: both are given, or `during` is no range.
    """
    if during is None:
        return from_, to
    if from_ != "start" or to not in (None, "end"):
        raise bad_parameter(
            "takes the place of --from and --to; leave these out", param_hint="--during"
        )
    first, dots, last = during.partition("..")
    if during in _NAMED:
        return _NAMED[during]
    if not (dots and first and last):
        raise bad_parameter(
            f"{during!r} is no range; write FROM..TO, such as 02:00..02:30, or {', '.join(_NAMED)}",
            param_hint="--during",
        )
    return first, last
