"""The alert rules for Prometheus: promtool accepts them, and each is caused."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from api.cli.main import run
from tests.api.services import serving
from tests.docs_console import ROOT

RULES = ROOT / "docs/prometheus/rules.yml"
CAUSED = ROOT / "docs/prometheus/rules_test.yml"

_METRIC = re.compile(r"\bmetalog_\w+|\bup\b")


def rules() -> dict[str, Any]:
    """Return the rules by the name of the alert."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


@pytest.mark.parametrize("what", [("check", "rules", RULES), ("test", "rules", CAUSED)])
def test_promtool_accepts_the_rules_and_causes_each(what: tuple[object, ...]) -> None:
    if shutil.which("promtool") is None:
        assert "METALOG_REQUIRE_CLIENTS" not in os.environ, "install Debian's prometheus"
        pytest.skip("promtool is not installed")
    found = subprocess.run(["promtool", *map(str, what)], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "SUCCESS" in found.stdout + found.stderr


def test_every_alert_is_caused_and_every_one_has_a_severity_and_a_summary() -> None:
    tests = yaml.safe_load(CAUSED.read_text())["tests"]
    caused = {
        case["alertname"]
        for test in tests
        for case in test["alert_rule_test"]
        if case.get("exp_alerts")
    }
    assert caused == set(rules())
    for name, rule in rules().items():
        assert rule["labels"]["severity"] in ("critical", "warning"), name
        assert rule["annotations"]["summary"], name


def test_every_metric_of_a_rule_and_of_its_test_is_one_of_a_service(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    assert run(["demo", str(log), "--topics", "2", "--brokers", "3", "--changes", "10"]) == 0
    with serving(log, "--session-timeout-ms", 600_000, "--http", "127.0.0.1:0") as service:
        text = httpx.get(f"{service.http}/metrics", timeout=60).text
    known = {"up"}
    for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE):
        parts = ("_bucket", "_count") if kind == "histogram" else ("",)
        known |= {f"{name}{part}" for part in parts}
    texts = [*[rule["expr"] for rule in rules().values()], CAUSED.read_text()]
    used = {name for text in texts for name in _METRIC.findall(text)}
    assert {"metalog_active", "metalog_job_runs_total"} < used
    assert used <= known
