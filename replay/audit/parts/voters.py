"""Voters of a dynamic quorum: the last VotersRecord contains the whole set."""

from pyspark.sql import DataFrame

from replay.audit.history import History


def voters(history: History) -> DataFrame:
    """Return the voters.

    Returns:
        voters struct (voter_id int, voter_directory_id binary, endpoints, kraft_version_feature).
    """
    return history.sql("""
        SELECT explode(last.voters) AS voters
        FROM (SELECT max_by(VotersRecord, position) AS last
              FROM {rare} WHERE VotersRecord IS NOT null)
    """)
