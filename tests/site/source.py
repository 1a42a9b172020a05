"""The documents as the site generator reads them: a copy with the paths of the repository.

So a link means the same on the site, in an editor and on a forge.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.docs_console import ROOT
from tests.site.help_pages import help_pages

HELP = Path("docs/help")

_PAGES = ("*.md", "docs/**/*.md", "benchmarks/README.md", "client/README.md")

_LINK = re.compile(r"\]\(((?!https?:|#)[^)#\s]+)")


def write_source(directory: Path) -> None:
    """Write the pages, and the files to which they link, into an empty directory."""
    pages = [page for pattern in _PAGES for page in sorted(ROOT.glob(pattern))]
    linked = {file for page in pages for file in _linked_files(page)}
    for path in {*pages, *linked}:
        copy = directory / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    (directory / HELP).mkdir()
    for name, text in help_pages().items():
        (directory / HELP / name).write_text(text)


def _linked_files(page: Path) -> Iterator[Path]:
    """Yield the files to which a page links, also those that are no pages; a broken link is left
    to the generator, which reports it.
    """
    for name in _LINK.findall(page.read_text()):
        file = (page.parent / name).resolve()
        if file.is_file() and file.is_relative_to(ROOT):
            yield file
