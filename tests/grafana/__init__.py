"""The dashboards of docs/grafana, generated: `python -m tests.grafana`."""
