"""Reads secrets from a prompt, a file, or standard input; never from an argument.

Every user of the machine can see arguments, and a shell keeps them in its history.
"""

import sys
from collections.abc import Callable

from api.cli.options.parameters import bad_parameter
from api.cli.terminal.errors import NothingDone

_SIZE_CHARACTERS_MAX = 65_536


def read_secret(file: str | None, *, option: str, prompt: str, confirm: bool = False) -> str:
    """Return a secret, without the newline at its end.

    Args:
        file: Path of a file; `-` is standard input, None prompts on the terminal.
        option: Name of the option that gives `file`, for error messages.
        confirm: Prompt twice.

    Raises:
        typer.BadParameter: there is no terminal to prompt on, the two entries differ, or the secret
            is empty, too long, or not UTF-8.
        OSError: the file cannot be read.
    """
    try:
        secret = _prompted(option, prompt, confirm) if file is None else _read(file, option)
        # Standard input, in some locales, has bytes that are not UTF-8 as surrogates.
        secret.encode()
    except UnicodeError:
        raise bad_parameter("the secret is not UTF-8", param_hint=option) from None
    if not secret:
        raise bad_parameter("the secret is empty", param_hint=option)
    return secret


def _read(file: str, option: str) -> str:
    if file == "-":
        text = sys.stdin.read(_SIZE_CHARACTERS_MAX + 1)
    else:
        with open(file, encoding="utf-8", newline="") as opened:
            text = opened.read(_SIZE_CHARACTERS_MAX + 1)
    if len(text) > _SIZE_CHARACTERS_MAX:
        raise bad_parameter(
            f"the secret has more than {_SIZE_CHARACTERS_MAX} characters", param_hint=option
        )
    return text.removesuffix("\n").removesuffix("\r")


def _prompted(option: str, prompt: str, confirm: bool) -> str:
    if not sys.stdin.isatty():
        raise bad_parameter(
            "there is no terminal to prompt on; name a file, or - for standard input",
            param_hint=option,
        )
    ask = _terminal()
    secret = ask(f"{prompt}: ")
    if confirm and ask(f"{prompt} again: ") != secret:
        raise bad_parameter("the two entries of the secret differ; try again")
    return secret


def _terminal() -> Callable[[str], str]:
    from getpass import getpass

    def ask(prompt: str) -> str:
        try:
            return getpass(prompt)
        except EOFError:
            raise bad_parameter("the prompt was closed without an answer") from None
        except KeyboardInterrupt:
            raise NothingDone("stopped at the prompt; no request was sent") from None

    return ask
