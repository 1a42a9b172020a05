"""Write the dashboards to docs/grafana."""

from tests.grafana.documents import DIRECTORY, documents

DIRECTORY.mkdir(exist_ok=True)
for name, text in documents().items():
    (DIRECTORY / name).write_text(text)
