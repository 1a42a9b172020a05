"""The right verdict in each case; see cases.py."""

import re
from pathlib import Path

import pytest

from tests.api.advise.cases import CASES, SEED, Case
from tests.api.advise.clusters import Cluster
from tests.api.conftest import Metalog


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_verdict_is_right(
    metalog: Metalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    directories = [path.relative_to(tmp_path) for path in case.build(Cluster(tmp_path))]
    before = _content(tmp_path)
    monkeypatch.chdir(tmp_path)
    answer = metalog("advise", *directories, *case.options, "--json")
    advice = answer.json
    assert (advice["verdict"], advice["certain"], advice["seed"]) == (
        case.verdict,
        case.certain,
        case.seed,
    ), advice["reason"]
    told = answer.out.replace("\\n", " ")
    for words in case.says:
        assert words in told
    assert answer.code == (0 if case.certain else 1)
    assert advice["steps"]
    if case.verdict == SEED and not case.certain:
        assert any("cannot be known" in line for line in advice["unknown"])
    assert not re.search(r"\d+ bytes", " ".join(each["text"] for each in advice["at_risk"]))
    assert _content(tmp_path) == before
    # What people see holds the same.
    text = metalog("advise", *directories, *case.options).out
    assert f"verdict: {case.verdict}" in text


def _content(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_there_are_forty_cases_and_no_two_are_one() -> None:
    assert len(CASES) >= 40
    assert len({case.title for case in CASES}) == len(CASES)


def test_the_table_of_the_page_is_that_of_the_cases() -> None:
    text = (Path(__file__).parents[3] / "docs" / "advise.md").read_text()
    told = re.findall(r"^\| (.+?) \| (\w+)(?: `(\w+)`)? \| (yes|no) \| .+ \|$", text, re.MULTILINE)
    assert told == [
        (case.title, case.verdict, case.seed or "", "yes" if case.certain else "no")
        for case in CASES
    ]
