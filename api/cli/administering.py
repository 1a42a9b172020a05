"""Administering a cluster: elect-leaders, and the nouns."""

import api.cli.admin.elect_leaders
import api.cli.admin.nouns  # noqa: F401  both register commands
