"""Prints the gaps of a recording: the missing offsets, and the changes found after each gap."""

from typing import TYPE_CHECKING

from api.cli.terminal.output import count_text, print_hanging, print_line, time_text

if TYPE_CHECKING:
    from api.questions.parts import GapFound
    from metadata_log.format.parts import Gap


def gap_text(gap: "Gap") -> str:
    """Return a text such as `offsets 410 to 799 were not recorded (... to ..., epochs 2 to 5)`."""
    epochs = f"leader epoch {gap.to_epoch}"
    if gap.from_epoch != gap.to_epoch:
        epochs = f"leader epochs {gap.from_epoch} to {gap.to_epoch}"
    return (
        f"offsets {gap.from_offset} to {gap.to_offset - 1} were not recorded "
        f"({time_text(gap.from_time)} to {time_text(gap.to_time)}, {epochs})"
    )


def print_gap(shown: "GapFound", *, verbose: bool = False) -> None:
    """Print a gap among the rows of an answer, and the changes found after the gap.

    Args:
        verbose: Also print each object that differs.
    """
    gap = shown.gap
    print_hanging(
        f"{time_text(gap.from_time)} {f'{gap.from_offset}-{gap.to_offset - 1}':>13}  "
        f"! {gap_text(gap)}; {_found_text(shown)}"
    )
    if verbose:
        for name in dict.fromkeys(change.object for change in shown.found or ()):
            print_line(f"{'':>40}{name}")


def _found_text(shown: "GapFound") -> str:
    from api.documents.comparisons import diff_stat

    counts = [
        ", ".join(
            f"{count_text(count, of.kind)} {fate}"
            for fate, count in (("new", of.new), ("gone", of.gone), ("changed", of.changed))
            if count
        )
        for of in diff_stat(shown.found or ()).stat
    ]
    return f"found after them: {', '.join(counts)}" if counts else "nothing differs after them"
