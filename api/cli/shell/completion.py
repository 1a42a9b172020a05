"""Tab completion in the shell: verbs, and paths that exist at the shell's point."""

from collections.abc import Callable

from api.cli.shell.lines import WORDS
from api.cli.shell.paths import place_at
from api.cli.shell.verbs import Shell
from api.printable import plain
from records.errors import MetadataLogError

DELIMITERS = " \t\n|"
"""Characters that separate the words to complete."""


def completer(shell: Shell, line: Callable[[], str]) -> Callable[[str, int], str | None]:
    """Return a function for `readline.set_completer`.

    Args:
        line: Returns the line up to the word being completed.
    """
    found: list[str] = []

    def complete(text: str, state: int) -> str | None:
        nonlocal found
        if state == 0:
            found = completions(shell, line(), text)
        return found[state] if state < len(found) else None

    return complete


def completions(shell: Shell, before: str, text: str) -> list[str]:
    """Return the possible completions of a word, each as the whole word; empty if none is known.

    Names with control characters are left out, because the edited line would show them unescaped.
    """
    if not before.strip():
        return [f"{word} " for word in WORDS if word.startswith(text)]
    folder, slash, start = text.rpartition("/")
    try:
        steps = shell.steps(place_at(shell.folder, folder + slash or "."))
    except MetadataLogError:
        return []
    return [
        f"{folder}{slash}{step}" if step.endswith("/") else f"{folder}{slash}{step} "
        for step in steps
        if step.startswith(start) and plain(step) == step
    ]
