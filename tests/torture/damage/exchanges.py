"""Files of a log replaced by those of another log: one or two at once, of every kind.

The other log has the same offsets and epochs. It is of another cluster, or of the same one with
another history: a fork, or a second log with the same cluster id.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import combinations

from metadata_log.files.names import COMMIT_MARK, DERIVED_SUFFIXES, claim_name
from tests.torture.damage.changes import Damages
from tests.torture.damage.specimens import Specimen
from tests.torture.damage.verdict import Damage


def all_of(specimen: Specimen, other: Specimen) -> Damages:
    """Return damages in which any one or two files, or claims, are replaced by those of the other
    log.

    Also with each earlier commit mark of the other log, with and without one of its files.
    """
    listed = list(_exchanged(specimen, other))
    return Damages(len(listed), lambda index: listed[index]())


def _exchanged(specimen: Specimen, other: Specimen) -> Iterator[Callable[[], Damage]]:
    differing = [n for n, data in sorted(other.files.items()) if specimen.files.get(n) != data]
    # With all that differs exchanged it would be the other log, and whole.
    assert len(list(filter(_matters, differing))) > 2
    stray = [{name: other.files[name]} for name in differing]
    marks = [{COMMIT_MARK: mark} for mark, _ in other.older_marks]
    pairs = [{**one, **two} for one, two in combinations(stray, 2)]
    pairs += [{**one, **mark} for one in stray for mark in marks if COMMIT_MARK not in one]
    for new in (*stray, *marks, *pairs):
        yield partial(_replaced, specimen, new)
    for epoch in (1, 9, 1_000):
        yield partial(_replaced, specimen, {claim_name(epoch): b""})


def _matters(name: str) -> bool:
    return not name.endswith(DERIVED_SUFFIXES) and not name.startswith("epoch-")


def _replaced(specimen: Specimen, new: Mapping[str, bytes]) -> Damage:
    return Damage(
        what=f"{', '.join(new)} of another log",
        files={**specimen.files, **new},
        # What is named may be the file that strayed in, or one that it does not fit.
        names=(*new, *specimen.spans, COMMIT_MARK),
        is_harmless=not any(map(_matters, new)),
    )
