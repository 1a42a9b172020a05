"""The documentation site is built; a link that leads nowhere fails it."""

import json
import re
from pathlib import Path

import pytest

from api.cli.commands import COMMANDS
from tests.docs_console import ROOT
from tests.site.build import build_site
from tests.site.help_pages import help_pages
from tests.test_docs import command_names


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    build_site(place)
    return place


def test_every_page_is_there_with_its_pictures(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        path = page.relative_to(ROOT).with_suffix(".html")
        built = path.with_name("index.html") if path.stem == "README" else path
        assert (site / built).is_file(), built
    assert "docs/pictures/page.png" in (site / "index.html").read_text()
    assert (site / "docs/pictures/page.png").is_file()


def test_the_search_finds_text_of_the_pages(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text())
    found = {each["location"] for each in index["docs"] if "one bad night" in each["text"].lower()}
    assert any(location.startswith("docs/tour.html") for location in found)


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert not re.findall(r"<(?:script|img|iframe)[^>]*src=\"?https?:", text), page
        assert not re.findall(r"<link[^>]*rel=\"?stylesheet\"?[^>]*href=\"?https?:", text), page


def test_every_command_has_its_help_on_a_page() -> None:
    pages = help_pages()
    assert pages.keys() == {"README.md", *[f"{name}.md" for name in COMMANDS]}
    for name in command_names():
        noun, _, verb = name.partition(" ")
        assert f"\n    metalog {name} " in pages[f"{noun}.md"], name
        assert f"(../commands.md#{name.replace(' ', '-')})" in pages[f"{noun}.md"]
        assert not verb or f"\n## {name}\n" in pages[f"{noun}.md"]


def test_lists_of_decisions_and_incidents_name_each() -> None:
    for folder in ("decisions", "incidents"):
        text = (ROOT / "docs" / folder / "README.md").read_text()
        for page in (ROOT / "docs" / folder).glob("*.md"):
            assert page.name == "README.md" or f"({page.name})" in text, page.name
