"""Kafka's binary encoding of the records, based on the layouts in the schemas (`kafka`)."""
