"""Spark settings for audits, and the list of the application's settings that audits keep."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_OPTIONS = "spark.driver.extraJavaOptions"

# A small log is read in a moment; what takes long is planning the query and compiling it. Measured
# on a log of 11,000 records, two cores: a digest costs 27 s of CPU with these, 61 s without.
QUICK = {
    JAVA_OPTIONS: " ".join(
        (
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            # By default Java collects all garbage three times only because classes were loaded.
            "-XX:MetaspaceSize=256m",
            # By default 48 MiB with this compiler. A session of many queries fills them; then Java
            # throws compiled code away and compiles it again, some 15 % of all CPU time.
            "-XX:ReservedCodeCacheSize=240m",
        )
    ),
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
    # Without compiled code, its cache costs more than what it saves.
    "spark.sql.subexpressionElimination.enabled": "false",
    "spark.sql.ui.explainMode": "simple",
}

TASK_BYTES = 16 * 1024 * 1024
"""Maximum total size in bytes of the file ranges that one task reads."""

# Spark's own reader serves the view `log` and the contradictions. A cost of opening above the
# size of a part makes each of its tasks read one file, or a part of one.
FILES = {
    "spark.sql.files.maxPartitionBytes": str(TASK_BYTES),
    "spark.sql.files.openCostInBytes": str(1 << 40),
    # Up to 2 GiB. Any lower limit makes Spark measure the batch after each row, which takes most
    # of the time of a batch with many columns.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    # By default Spark writes INT96, which has no zone, and which others read as local times.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}

_KEPT = (
    # With artifacts of its own, a session gets Python workers of its own, which import anew.
    "spark.sql.artifact.isolation.",
    *("spark.sql.adaptive.", "spark.sql.autoBroadcastJoinThreshold", "spark.sql.codegen."),
    *("spark.sql.parquet.compression.", "spark.sql.shuffle.", "spark.sql.ui."),
    "spark.sql.subexpressionElimination.",
)
"""Prefixes of application settings that audits keep, because they change no answer."""


def reset(spark: "SparkSession") -> None:
    """Reset a new session's SQL settings, which the application may have changed, to the defaults.

    Settings with a prefix in `_KEPT` stay. An example of a reset setting is
    `spark.sql.ansi.enforceReservedKeywords`, which forbids a column named `offset`.
    """
    for name in spark.conf.getAll:
        is_ours = name.startswith("spark.sql.") and not name.startswith(_KEPT)
        if is_ours and spark.conf.isModifiable(name):
            spark.conf.unset(name)
