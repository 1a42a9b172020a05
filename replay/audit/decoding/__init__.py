"""Decodes segments into Arrow columns in Spark's Python workers, without Spark's Avro reader."""
