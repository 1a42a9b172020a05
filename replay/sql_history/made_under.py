"""The replay rules under which tables were made.

They come before the schema: a migration changes columns, but not states that other rules derived,
so such tables are to be made anew in any case.
"""

from records.errors import RequestError
from replay.image.rules import RULES_VERSION


def check_rules(rules: int | None) -> None:
    """Check that tables were made under this release's replay rules; None: they are empty.

    Raises:
        RequestError: UNSUPPORTED_VERSION.
    """
    if rules is None or rules == RULES_VERSION:
        return
    todo = "use a newer release"
    if rules < RULES_VERSION:
        todo = "remove the database and sync again (`metalog sql sync`)"
    raise RequestError(
        "UNSUPPORTED_VERSION",
        f"made under version {rules} of the replay rules, this release has version "
        f"{RULES_VERSION}; {todo}",
    )
