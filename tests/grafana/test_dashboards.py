"""The dashboards of docs/grafana are those that are generated, and their parts fit together."""

import json
import re
from typing import Any

import pytest

from tests.grafana.documents import DIRECTORY, documents
from tests.grafana.panels import WIDTH, queries_of

DOCUMENTS = documents()


def test_the_files_are_those_that_are_generated() -> None:
    """`python -m tests.grafana` writes them."""
    assert {path.name: path.read_text() for path in DIRECTORY.glob("*.json")} == DOCUMENTS


@pytest.mark.parametrize("name", DOCUMENTS)
def test_panels_have_a_source_and_a_help_and_do_not_overlap(name: str) -> None:
    document = json.loads(DOCUMENTS[name])
    panels = document["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at: dict[str, Any] = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert at["x"] + at["w"] <= WIDTH, panel["title"]
        assert not cells & taken, panel["title"]
        taken |= cells
        if panel["type"] != "row":
            assert panel["description"].endswith(".")
            sources = [panel["datasource"], *[each["datasource"] for each in panel["targets"]]]
            assert {source["uid"] for source in sources} == {"${datasource}"}
            refs = [each["refId"] for each in panel["targets"]]
            assert len(set(refs)) == len(refs)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_queries_use_the_variables_that_there_are(name: str) -> None:
    document = json.loads(DOCUMENTS[name])
    known = {each["name"] for each in document["templating"]["list"]} - {"datasource"}
    used = {
        name for _, text in queries_of(document) for name in re.findall(r"\$\{?([a-z]\w*)", text)
    }
    assert used == known
