"""Prints prose in lines of at most 80 columns."""

import textwrap

from api.cli.terminal.output import print_line

_COLUMNS = 80


def print_prose(start: str, text: str) -> None:
    """Print a text after `start`; wrapped lines are indented to the same column."""
    whole = textwrap.fill(
        text,
        _COLUMNS,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in whole.splitlines():
        print_line(line)
