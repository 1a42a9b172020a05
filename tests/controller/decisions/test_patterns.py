"""Regular expressions for topic names, compared with Python's own engine."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.decisions.topics.patterns import STATES_MAX, Pattern, matching
from records.errors import RequestError


def _atoms() -> st.SearchStrategy[str]:
    classes = ["[ab]", "[^a]", "[a-c.]", "[]a]", "[a-]", r"[\w-]", r"\.", r"\d", r"\W", ".", ":"]
    return st.sampled_from([*"abc-", *classes])


_PATTERNS = st.recursive(
    _atoms(),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        st.lists(inner, min_size=0, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda options: f"({'|'.join(options)})"),
    ),
    max_leaves=8,
)


@given(_PATTERNS, st.text("abcd-.:1_", max_size=8))
def test_a_pattern_matches_what_pythons_engine_matches(pattern: str, name: str) -> None:
    try:
        compiled = Pattern(pattern)
    except RequestError:  # repeats of repeats grow fast
        return
    assert compiled.matches(name) == (re.fullmatch(pattern, name) is not None)


@pytest.mark.parametrize("pattern", ["[b-d]", "[^b-d]", "[b-b]", "[a-y]", "[a-]b?", "[]-]b?"])
def test_a_range_has_both_its_ends_and_no_more(pattern: str) -> None:
    compiled = Pattern(pattern)
    for name in "abcdexyz":
        assert compiled.matches(name) == (re.fullmatch(pattern, name) is not None)


@given(_PATTERNS, st.sampled_from(["a", "b:a", "ab"]), st.text("abc-.1_", min_size=1, max_size=6))
def test_topics_that_match_are_foreseen(pattern: str, namespace: str, topic: str) -> None:
    try:
        compiled = Pattern(pattern)
    except RequestError:
        return
    if compiled.matches(f"{namespace}:{topic}"):
        assert compiled.matches_topics_in(namespace)


@pytest.mark.parametrize(
    ("pattern", "does"),
    [
        (".*", True),
        ("bla.*", True),
        ("bla", False),
        ("bla:", False),
        ("bla:x{3}", True),
        ("bla:[^a-zA-Z0-9._-]", False),
        ("bla:.*:x", False),
        (".*:orders", True),
        ("b+la:(a|b)*", True),
        ("other:.*", False),
    ],
)
def test_which_patterns_can_match_a_topic_in_a_namespace(pattern: str, does: bool) -> None:
    assert Pattern(pattern).matches_topics_in("bla") is does


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("^orders$", ["orders"]),
        ("^orders|^a:.*$", ["orders", "a:b"]),
        ("orders", ["orders"]),
        ("o*", []),
        ("", []),
        (".*", ["orders", "a:b", "orders-2"]),
        ("orders(-\\d+)?", ["orders", "orders-2"]),
    ],
)
def test_patterns_match_whole_names(pattern: str, matched: list[str]) -> None:
    assert matching(pattern, ["orders", "a:b", "orders-2"]) == matched


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "a '(' without its ')'"),
        (")", "a ')' without its '('"),
        ("[a", "a '[' without its ']'"),
        ("*a", "'*' has nothing to repeat"),
        ("a**", "'*' has nothing to repeat"),
        ("a{2,1}", "2 is above 1"),
        ("a{x}", "a count is written {n}, {n,} or {n,m}"),
        ("a{99999999999}", "a count is written {n}, {n,} or {n,m}"),
        ("a\\", "a '\\' at the end"),
        ("\\bword", "'\\b' is not supported"),
        ("(?!x)a", "look-around, flags and named groups are not supported"),
        ("(a)\\1", "'\\1' is not supported"),
        ("a^b", "'^' may only stand at the beginning or the end"),
        ("a$b", "'$' may only stand at the beginning or the end"),
        ("[b-a]", "a range must go from a character to a later one"),
        ("ä", "'ä' is in no name: names are ASCII"),
        ("(" * 51 + ")" * 51, "groups are nested deeper than 50"),
        ("a" * 1_001, "the pattern has 1001 characters; at most 1000 are allowed"),
        ("(a{100}){100}", "more than 250 characters with its repeats written out"),
        ("((((){999}){999}){999}){999}", "more than 250 characters with its repeats written out"),
        ("((a{0,9}){0,9}){0,9}", "more than 250 characters with its repeats written out"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_its_reason(
    pattern: str, reason: str
) -> None:
    with pytest.raises(RequestError) as caught:
        Pattern(pattern)
    assert caught.value.code == "INVALID_REGULAR_EXPRESSION"
    assert reason in str(caught.value)


def test_a_pattern_that_backtracking_engines_never_end_on_ends() -> None:
    assert matching("(a*)*b", ["a" * 249]) == []
    assert matching("(a|a|ab?)+c", ["a" * 249]) == []


def test_a_pattern_that_meets_too_many_states_is_refused() -> None:
    names = [f"{number:0b}".replace("0", "b").replace("1", "a") for number in range(STATES_MAX)]
    with pytest.raises(RequestError, match="takes too much work"):
        matching("(a|b)*a(a|b){99}(a|b)*", [name * 9 for name in names])
