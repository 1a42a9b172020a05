"""The pictures of the documents: each is one that is taken of generated data, shown, and small."""

import re

from tests.docs_console import ROOT
from tests.pictures import DIRECTORY, PICTURES

_SIZE_BYTES_MAX = 200_000

_SHOWN = re.compile(r"!\[(.*?)\]\((?:docs/)?pictures/([\w.]+)\)")


def test_every_picture_is_taken_and_shown_with_words_for_who_cannot_see_it() -> None:
    """`python -m tests.pictures` takes them."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = [found for page in pages for found in _SHOWN.findall(page.read_text())]
    assert {name for _, name in shown} == set(PICTURES)
    assert all(len(words.split()) > 5 for words, _ in shown)
    assert {path.name for path in DIRECTORY.iterdir()} == set(PICTURES)


def test_pictures_are_small() -> None:
    for path in DIRECTORY.iterdir():
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(content) < _SIZE_BYTES_MAX, path.name
