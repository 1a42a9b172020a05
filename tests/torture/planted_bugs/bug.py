"""The description of a planted bug."""

import msgspec


class Bug(msgspec.Struct, frozen=True, kw_only=True):
    """A mistake that a developer could make, and the test that must notice it.

    Attributes:
        name: Its name in the table.
        what: The mistake, in a sentence.
        file: The source file that is changed, relative to the root of the project.
        old: Text that occurs in it exactly once.
        new: The text that replaces it.
        campaign: The campaign whose pieces must fail; or a test file, if no campaign covers it.
        seeds: Pieces to run, until one fails.
        expects: A pattern that the failure's message must match, to prove the reason. For a test
            file, the test that must fail.
    """

    name: str
    what: str
    file: str
    old: str
    new: str
    campaign: str
    seeds: tuple[int, ...]
    expects: str
