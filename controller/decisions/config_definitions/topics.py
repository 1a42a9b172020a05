"""Names and definitions of the configs that a topic may have."""

from collections.abc import Mapping

from controller.decisions.config_definitions.definition import ConfigDefinition
from controller.decisions.config_definitions.tables.table_parser import parse_table
from controller.decisions.config_definitions.tables.topics import TOPICS

CLEANUP_POLICY = "cleanup.policy"
MIN_ISR = "min.insync.replicas"
UNCLEAN_ELECTION = "unclean.leader.election.enable"

TOPIC_CONFIGS: Mapping[str, ConfigDefinition] = parse_table(TOPICS)
