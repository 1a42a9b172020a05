"""The dashboards as files."""

from pathlib import Path

from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder

from tests.docs_console import ROOT
from tests.grafana.history import history_dashboard
from tests.grafana.service import service_dashboard

DIRECTORY: Path = ROOT / "docs/grafana"


def documents() -> dict[str, str]:
    """Return the text of each file of `DIRECTORY` by its name."""
    made = {"service.json": service_dashboard(), "history.json": history_dashboard()}
    return {name: _text(each) for name, each in made.items()}


def _text(made: Dashboard) -> str:
    found = made.build()
    for number, panel in enumerate(found.panels or (), start=1):
        panel.id_val = number
    return JSONEncoder(indent=2, sort_keys=True).encode(found) + "\n"
