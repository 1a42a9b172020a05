"""The page of a log without records: what happened is not known."""

from pathlib import Path

from playwright.sync_api import expect

from tests.api.conftest import Metalog
from tests.api.report.conftest import Opened
from tests.real_logs import DataSet, each_data_set_where


@each_data_set_where(
    lambda each: (each.name, each.node) == ("ogs59-3node-history", "data_kafka-1"),
    is_heavy=lambda _: False,
)
def test_of_a_checkpoint_alone_the_page_does_not_say_that_nothing_happened(
    metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path
) -> None:
    log, file = tmp_path / "log", tmp_path / "report.html"
    metalog("import", "kraft", data_set.directory, log)
    assert metalog("report", log, file).code == 0
    page = opened(file)
    expect(page.locator("li.nothing")).to_have_text("There are no records: only a state is known.")
    expect(page.locator("body")).not_to_contain_text("Nothing happened")
