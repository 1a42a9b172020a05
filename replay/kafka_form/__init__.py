"""An own log in Kafka's form: its blocks as Kafka's record batches, at the same offsets.

The form is defined in docs/kafka_form.md.
"""
