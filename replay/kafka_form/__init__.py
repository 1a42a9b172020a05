"""Kafka's form of a log that is not a mirror: its blocks as record batches, at the same offsets.

The form is defined in docs/kafka_form.md.
"""
