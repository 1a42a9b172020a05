"""Checks the version of the replay rules under which the tables were made.

This check precedes that of the schema: a migration changes columns, but not the states that other
rules have derived, so such tables must be made anew in any case.
"""

from records.errors import RequestError
from replay.image.rules import RULES_VERSION


def check_rules(rules: int | None) -> None:
    """Check that tables were made under this release's replay rules.

    Args:
        rules: Version of the rules; None if the tables are empty.

    Raises:
        RequestError: UNSUPPORTED_VERSION, the tables were made under another version.
    """
    if rules is None or rules == RULES_VERSION:
        return
    todo = "use a newer release"
    if rules < RULES_VERSION:
        todo = "remove the database and sync again (`metalog sql sync`)"
    raise RequestError(
        "UNSUPPORTED_VERSION",
        f"the tables were made under version {rules} of the replay rules, but this release has "
        f"version {RULES_VERSION}; {todo}",
    )
