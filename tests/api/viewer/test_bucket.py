"""`metalog view s3://...`: a backup in a bucket."""

from pathlib import Path

import pytest

from tests.api.conftest import Metalog
from tests.api.viewer.conftest import Viewed


@pytest.fixture
def log(metalog: Metalog, tmp_path: Path, s3_place: str) -> Path:
    """A log, and its backup in the bucket."""
    log = tmp_path / "log"
    made = ["demo", log, "--topics", 3, "--brokers", 3, "--changes", 40, "--seed", 5]
    assert metalog(*made).code == 0
    assert metalog("backup", log, s3_place).code == 0
    return log


async def test_a_backup_in_a_bucket_is_shown_like_the_log(
    viewed: Viewed, log: Path, s3_place: str
) -> None:
    of_log, of_bucket = await viewed(log), await viewed(s3_place)
    for path in ("/v1/summary", "/v1/topics/list", "/v1/outages", "/v1/dump"):
        answers = [await view.http.get(path) for view in (of_log, of_bucket)]
        assert answers[0].status_code == 200
        assert answers[0].text == answers[1].text, path
    columns = await of_bucket.http.get("/v1/report/columns")
    assert columns.headers["Metalog-Log"] == s3_place.replace("://", "%3A//")
