"""Sends the statements that `audit sql` refuses through Spark Connect; prints those not refused.

python -m tests.replay.audit.refused_over_connect LOG sc://HOST:PORT
"""

import json
import sys

from pyspark.sql import SparkSession

from records.errors import RequestError
from replay import audit
from tests.replay.audit.statements import STATEMENTS

_QUERIES = (
    "SELECT * FROM parquet.`/etc/passwd`",
    "SELECT * FROM elsewhere",
    "SELECT java_method('java.lang.System', 'exit', '1')",
    "SELECT TRANSFORM (type) USING 'cat' FROM log",
    "SELECT ${spark.app.name}",
)


def main(location: str, remote: str) -> None:
    """Send each statement, in one session; print as JSON those that were not refused."""
    spark = SparkSession.builder.remote(remote).getOrCreate()
    accepted = []
    with audit.open(location, spark) as log:
        for text in (*_QUERIES, *(text for texts in STATEMENTS.values() for text in texts)):
            try:
                log.sql(text)
            except RequestError:
                continue
            accepted.append(text)
        views = [row["view"] for row in log.sql("SHOW TABLES").collect()]
    spark.stop()
    print(json.dumps({"accepted": accepted, "views": len(views)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
