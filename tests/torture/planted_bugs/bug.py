"""What a planted bug is."""

import msgspec


class Bug(msgspec.Struct, frozen=True, kw_only=True):
    """A mistake that somebody could make, and who must notice it.

    Attributes:
        name: How it is called in the table.
        what: What is wrong then, in a sentence.
        file: The source that is changed, from the root of the project.
        old: Text that stands in it exactly once.
        new: What stands there instead.
        campaign: Whose pieces must fail; or a file of tests, where no campaign looks.
        seeds: Pieces to run, until one fails.
        expects: A pattern in the failure's message: it was noticed for this reason. Of a file of
            tests, the test that must fail.
    """

    name: str
    what: str
    file: str
    old: str
    new: str
    campaign: str
    seeds: tuple[int, ...]
    expects: str
